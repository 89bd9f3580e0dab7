"""``zlbench doctor``: is this machine ready, and which settings would a screen use?"""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

import zlbench
from zlbench import cards
from zlbench.axis import shown
from zlbench.builds.environment import installed
from zlbench.builds.spec import parse_build
from zlbench.cli.app import App
from zlbench.cli.main import finish
from zlbench.errors import ExitCode, ZlbenchError
from zlbench.measure.backend_choice import choose
from zlbench.settings import axis_of
from zlbench.suite.inventory import read_inventory
from zlbench.suite.pairing import unsuited
from zlbench.suite.provider import find_provider
from zlbench.text import columns, plural

_NEEDED_BYTES = 6_000_000_000
"""A base with torch and two compilers, with room for a run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    ok: bool
    found: str
    advice: str = ""


def run(app: App) -> ExitCode:
    """Print the checks, and with ``--explain`` every setting with its source."""
    if app.resolved.flag("explain"):
        lines = list(app.resolved.explain())
        if app.resolved.flag("json"):
            app.json({name: {"value": item.value, "source": str(item.source)}
                      for name, item in app.resolved.settings.items()})  # fmt: skip
            return ExitCode.OK
        app.result(f"settings of nox -s screen, from {app.project.file or 'no zlbench.toml'}")
        for line in lines:
            app.result(line)
        return ExitCode.OK
    checks = [check for part in (_machine, _suite, _builds, _pairing, _cards) for check in part(app)]
    if app.resolved.flag("json"):
        app.json([{"check": c.name, "ok": c.ok, "found": c.found, "advice": c.advice} for c in checks])
    else:
        for line in columns(("", "check", "found"), [("ok" if c.ok else "!!", c.name, c.found) for c in checks]):
            app.result(line)
        for check in checks:
            if check.advice:
                app.result(f"{check.name}: {check.advice}")
    return ExitCode(finish(ExitCode.OK if all(check.ok for check in checks) else ExitCode.PREFLIGHT))


def _machine(app: App) -> list[Check]:
    where = app.home if app.home.exists() else app.project.root
    free = shutil.disk_usage(where).free
    nox = shutil.which("nox", path=app.env.get("PATH"))
    writable = _writable(app.runs)
    leak = app.env.get("PYTHONPATH", "")
    return [
        Check(name="zlbench", ok=True, found=f"{zlbench.__version__}, Python {platform.python_version()}"),
        Check(
            name="nox", ok=True, found=nox or "not on PATH", advice="" if nox else "python3 noxfile.py does the same."
        ),
        Check(name="processors", ok=True, found=f"{len(os.sched_getaffinity(0))}, so {app.jobs} cells side by side"),
        Check(
            name="disk", ok=free > _NEEDED_BYTES, found=f"{free / 1e9:.0f} GB free at {where}",
            advice="" if free > _NEEDED_BYTES else "Environments of two compilers with torch need about 3 GB.",
        ),
        Check(
            name="runs", ok=writable, found=str(app.runs),
            advice="" if writable else "Not writable: give --out DIR or OUT_DIR.",
        ),
        Check(
            name="PYTHONPATH", ok="triton" not in _packages(leak), found=leak or "unset",
            advice="It holds a triton, which would be measured in place of the builds: unset PYTHONPATH."
            if "triton" in _packages(leak) else "",
        ),
    ]  # fmt: skip


def _writable(path: Path) -> bool:
    existing = next(folder for folder in (path, *path.parents) if folder.exists())
    return os.access(existing, os.W_OK)


def _packages(pythonpath: str) -> set[str]:
    entries = [Path(entry) for entry in pythonpath.split(os.pathsep) if entry]
    return {"triton"} if any((entry / "triton" / "__init__.py").is_file() for entry in entries) else set()


def _suite(app: App) -> list[Check]:
    try:
        given = str(app.resolved.source("suite"))
        provider = find_provider(app.resolved.text("suite"), cwd=app.cwd, given=given)
        names = read_inventory(provider, cache=app.home / f"inventory-{provider.name}.json").names()
    except ZlbenchError as error:
        return [Check(name="suite", ok=False, found=error.message, advice=error.hint)]
    return [Check(name="suite", ok=True, found=f"{provider.name}, {plural(len(names), 'operator')}, {provider.root}")]


def _builds(app: App) -> list[Check]:
    """The two builds of the axis: made, or to be made by the first screen."""
    made = {manifest.spec_digest: manifest for manifest in installed(app.home)}
    checks = []
    try:
        axis = axis_of(app.resolved, app.project)
        known = app.project.known_builds()
        for side in axis.sides:
            build = parse_build(side.build, known, cwd=app.cwd)
            manifest = made.get(build.digest())
            found = manifest.label if manifest else "not made yet, the first screen makes it"
            checks.append(Check(name=f"build {side.label}", ok=True, found=f"{build.name}: {found}"))
        for switch in axis.switches:
            values = f"A {shown(switch.a)}, B {shown(switch.b)}"
            checks.append(Check(name="switch", ok=True, found=f"{switch.name}: {values}"))
    except ZlbenchError as error:
        checks.append(Check(name="builds", ok=False, found=error.message, advice=error.hint))
    return checks


def _pairing(app: App) -> list[Check]:
    """Does the suite know how to call kernels of builds that have been made? Silent where it does."""
    made = {manifest.spec_digest: manifest for manifest in installed(app.home)}
    try:
        provider = find_provider(app.resolved.text("suite"), cwd=app.cwd)
        axis, known = axis_of(app.resolved, app.project), app.project.known_builds()
        builds = {side.label: parse_build(side.build, known, cwd=app.cwd) for side in axis.sides}
    except ZlbenchError:
        return []  # said by its own check
    backend, _ = choose(app.resolved.text("backend"), list(builds.values()))
    sound = backend.deviceless or app.resolved.flag("force_pairing")
    checks = []
    for label, build in builds.items():
        manifest = made.get(build.digest())
        problem = unsuited(provider, manifest.triton_version) if manifest else None
        if problem is not None:
            advice = "" if sound else "It is refused on a card: zlbench explain suite-suits-compiler."
            found = f"{problem}{', which compiling alone does not touch' if backend.deviceless else ''}"
            checks.append(Check(name=f"suite on {label}", ok=sound, found=found, advice=advice))
    return checks


def _cards(app: App) -> list[Check]:
    """What a screen would measure on, and the cards that are there."""
    try:
        axis, known = axis_of(app.resolved, app.project), app.project.known_builds()
        builds = [parse_build(side.build, known, cwd=app.cwd) for side in axis.sides]
    except ZlbenchError:
        builds = []  # said by its own check
    backend, reason = choose(app.resolved.text("backend"), builds)
    why = f" ({reason})" if reason else ""
    if backend.deviceless:
        targets = ", ".join(map(str, app.resolved.value("target")))
        found = f"{backend.name}: no device needed, compiles for {targets}{why}"
        return [Check(name="backend", ok=True, found=found)]
    absent = cards.why_absent(backend, app.env)
    checks = [Check(name="backend", ok=not absent, found=f"{backend.title}{why}", advice=absent)]
    answer = cards.cards_of(backend, app.env)
    if answer.reason:
        return [*checks, Check(name="cards", ok=True, found=answer.reason)]
    names = cards.chosen(backend, app.env, app.resolved.value("device"))
    for card in cards.in_order(answer.values, names):
        use = cards.use_of(backend, card, app.env)
        said = "; ".join(use.lines()) or use.reason or "nobody else on it"
        found = f"{card.index} {card.name}, driver {card.driver or 'unknown'}, {card.uuid or 'no UUID'}: {said}"
        advice = "Its times would be shared with that process: measure on another card." if use.busy else ""
        checks.append(Check(name="card", ok=not use.busy, found=found, advice=advice))
    return checks
