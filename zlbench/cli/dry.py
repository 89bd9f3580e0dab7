"""``--dry-run``: conditions, builds and the exact commands, as text; nothing is started or written."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from zlbench.builds.environment import installed
from zlbench.builds.manifest import Manifest
from zlbench.cli.app import App
from zlbench.measure.prepare import Prepared, worker_specs
from zlbench.measure.request import Request
from zlbench.settings import ShapeMode


def known_manifests(app: App, request: Request) -> dict[str, Manifest]:
    """Return the manifests of the builds that are made already, by side."""
    made = {(manifest.name, manifest.spec_digest): manifest for manifest in installed(app.home)}
    return {
        label: made[build.name, build.digest()]
        for label, build in request.builds.items()
        if (build.name, build.digest()) in made
    }


def condition_lines(request: Request) -> list[str]:
    """Say under which conditions the cells would run, as far as the request settles them."""
    resolved = request.resolved
    device = f" · device {','.join(request.devices)}" if request.devices and not request.backend.deviceless else ""
    where = (
        f"target {','.join(request.targets)} · compile only" if request.backend.deviceless else request.backend.title
    )
    why = f" ({request.backend_reason})" if request.backend_reason else ""
    shapes = {
        ShapeMode.INLINE: f"--shapes {resolved.value('shapes')}",
        ShapeMode.FILE: f"file {request.shape_file}",
        ShapeMode.UPSTREAM: "the suite's own",
    }[request.shape_mode]
    dtypes = ",".join(resolved.texts("dtypes")) or "each operator's own"
    if request.backend.deviceless:
        timing = f"configs {resolved.value('configs')}"
    else:
        timing = (
            f"timer {request.timer} · L2 {request.l2 or 'as the suite has it'} · baseline {resolved.text('baseline')}"
        )
    lines = [
        f"  {request.provider.title} · level {resolved.text('level')} · {where}{device}{why}",
        f"  dtypes {dtypes} · shapes {shapes} · {timing}",
    ]
    if resolved.flag("quick"):
        lines.append("  quick: one shape and one dtype an operator")
    return lines + [f"  note: {line}" for line in (*request.notes, *request.unread)]


def build_lines(app: App, request: Request, *, work_dir: Path) -> list[str]:
    """Say what each side is and, once its build is made, how its process would be started."""
    manifests = known_manifests(app, request)
    lines = []
    for label, build in request.builds.items():
        made = "made" if label in manifests else "to be made"
        lines.append(f"  {label}  {build.name} ({build.requirement or build.python or build.tree}, {made})")
    if len(manifests) == len(request.builds):
        lines += [f"  {command}" for command in _commands(request, manifests, work_dir, app.env)]
    return lines


def _commands(request: Request, manifests: Mapping[str, Manifest], work_dir: Path, env: Mapping[str, str]) -> list[str]:
    """The commands that would be started, with the variables that differ from the caller's."""
    shown = []
    for worker in worker_specs(request, Prepared(manifests=manifests), work_dir=work_dir, env=env):
        own = [f"{key}={value}" for key, value in sorted(worker.env.items()) if env.get(key) != value]
        shown.append(f"{worker.side}: {shlex.join(['env', *own, *worker.argv])}")
    return shown
