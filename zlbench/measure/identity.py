"""The identity of a cell: the caliber that it was measured with, and the compiler that it really imported."""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zlbench
from zlbench import cards, store, tuning
from zlbench.axis import Side
from zlbench.builds.manifest import Manifest
from zlbench.caliber import Caliber
from zlbench.cells import CellSpec, read_json_lines
from zlbench.errors import PreflightError
from zlbench.identity import RunIdentity
from zlbench.measure.ambient import AABS, AABS_DEFAULT, VENDOR_VARIABLES
from zlbench.measure.cardwatch import CARD
from zlbench.measure.prepare import forced_pairing, with_vendor
from zlbench.measure.request import SEED, Request
from zlbench.process import Command, run
from zlbench.shapes import shapes_hash
from zlbench.suite.provider import Provider, content_hash, suite_commit


class SuiteFacts:
    """Commit and content of the suite, looked up once a command."""

    def __init__(self, provider: Provider) -> None:
        self.commit = suite_commit(provider.root)
        self.dirty = _dirty(provider.root) if self.commit else None
        self.hash = content_hash(provider)


def _dirty(root: Path) -> bool | None:
    """Whether the checkout has uncommitted changes; None where git cannot be asked."""
    command = Command(
        argv=("git", "status", "--porcelain", "--untracked-files=no"), env=dict(os.environ), cwd=root, timeout_s=10.0
    )
    try:
        outcome = run(command)
    except PreflightError:
        return None
    return bool(outcome.stdout.strip()) if outcome.ok else None


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviceFacts:
    """The card of a cell: as its process saw it, and as the vendor's tool did. None and empty mean unknown."""

    name: str | None = None
    uuid: str | None = None
    driver: str | None = None
    settings: Mapping[str, float] = field(default_factory=dict)
    foreign: tuple[Mapping[str, Any], ...] | None = None

    @classmethod
    def read(cls, cell_dir: Path, process: Mapping[str, Any]) -> DeviceFacts:
        """Read what a cell left; a process that was killed told nothing, and the tool's word counts."""
        seen: Mapping[str, Any] = store.read_json(cell_dir / CARD) or {}
        card: Mapping[str, Any] = seen.get("card") or {}
        own: Mapping[str, Any] = process.get("device") or {}
        foreign = seen.get("foreign_processes")
        if own.get("uuid") and card.get("uuid") and not cards.same_uuid(own["uuid"], card["uuid"]):
            card = {"driver": card.get("driver")}  # the tool was asked about another card of this machine
        return cls(
            name=card.get("name") or own.get("name") or None,
            uuid=card.get("uuid") or own.get("uuid") or None,
            driver=card.get("driver") or None,
            settings=card.get("settings") or {},
            foreign=None if foreign is None else tuple(foreign),
        )


def caliber_of(
    request: Request, spec: CellSpec, manifest: Manifest, facts: SuiteFacts, device: DeviceFacts, *,
    shapes: Mapping[str, list[Any]], code: Mapping[str, str],
) -> Caliber:  # fmt: skip
    """Every condition of one cell.

    Args:
        shapes: those that its benchmark announced before the first row. Not those that ran: a side that died half-way
            was still asked the same question.
        code: digests of the files of further plugins, by name.
    """
    resolved = request.resolved
    return Caliber(
        backend=spec.backend,
        device=spec.target or device.name or resolved.value("device"),
        driver=device.driver,
        timer=spec.timer,
        l2=spec.l2,
        bench_level=spec.level,
        mode=spec.mode,
        shape_mode=spec.shape_mode,
        shapes_hash=shapes_hash(shapes) if shapes else None,
        dtypes=spec.dtypes or None,
        baseline=None if request.backend.deviceless else spec.baseline,
        configs=spec.configs if request.backend.deviceless else None,
        autotune_mode=spec.autotune,
        autotune_source=tuning.source_digest(Path(spec.out_dir)),
        tuner_cache="isolated" if resolved.flag("isolate_tuner_cache") else "shared",
        direct_repeat=spec.direct_repeat,
        quick=spec.quick,
        warmup_ms=spec.warmup_ms,
        rep_ms=spec.rep_ms,
        environment=spec.environment or None,
        flagtree_aabs=_aabs(request, spec),
        use_flagtune=resolved.flag("use_flagtune"),
        suite=request.provider.name,
        suite_commit=facts.commit,
        suite_dirty=facts.dirty,
        suite_hash=facts.hash,
        torch=manifest.torch_version,
        python=manifest.python_version,
        seeds=str(SEED),
        plugins=_digest(spec.plugins, code),
    )


# Record and replay are a condition of their own: A records, B replays, and nothing else differs between them.
_TUNING_PLUGINS = ("autotune_record", "autotune_replay")


def _digest(plugins: Sequence[str], code: Mapping[str, str]) -> str:
    """Digest of names and code: a plugin that was changed between measures in another way, ours like any other."""
    names = [name for name in plugins if not name.endswith(_TUNING_PLUGINS)]
    words = [*names, measuring_code(), *(f"{name} {digest}" for name, digest in sorted(code.items()))]
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:12]


_MEASURING = ("zlbench_plugins", "zlbench_backends")
"""Our packages that work in the measured process; what only reads its files may change."""


@functools.cache
def measuring_code() -> str:
    """Digest of our own code in the measured process, as it was when this command first asked."""
    return code_digest(Path(str(importlib.import_module(package).__file__)).parent for package in _MEASURING)


def code_digest(folders: Iterable[Path]) -> str:
    """Digest of the Python files of packages, wherever they lie."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{folder.name}/{path.relative_to(folder).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _aabs(request: Request, spec: CellSpec) -> str | None:
    """FLAGTREE_AABS as both sides have it; a declared switch is the axis, and no condition."""
    if AABS in {switch.name for switch in request.switched}:
        return None
    return dict(item.split("=", 1) for item in spec.environment).get(AABS, AABS_DEFAULT)


def _vendor_asked_for(request: Request) -> str | None:
    """The vendor that a process which did not come to say was given."""
    return with_vendor(os.environ, request.backend).get(VENDOR_VARIABLES[0]) if request.backend.vendor else None


def _cards_beside(cell_dir: Path, device: DeviceFacts) -> tuple[str, ...]:
    """Other cards that timed configs of this operator side by side with this one."""
    meta: Mapping[str, Any] = store.read_json(cell_dir / tuning.META) or {}
    used = (meta.get("parallel_warmup") or {}).get("cards") or []
    return tuple(str(card) for card in used if not cards.same_uuid(str(card), device.uuid or ""))


def write_identity(request: Request, spec: CellSpec, side: Side, manifest: Manifest, facts: SuiteFacts) -> RunIdentity:
    """Write run_identity.json of a cell that has ended, from what was asked for and what its process reported."""
    cell_dir = Path(spec.out_dir)
    events = read_json_lines(cell_dir / "events.jsonl")
    announced = {event["op"]: event["shapes"] for event in events if event["event"] == "planned"}
    code = {
        name: digest for event in events if event["event"] == "plugin_code" for name, digest in event["code"].items()
    }
    process: Mapping[str, Any] = store.read_json(cell_dir / "process.json") or {}
    device = DeviceFacts.read(cell_dir, process)
    tuned: Mapping[str, Any] = store.read_json(cell_dir / tuning.META) or {}
    identity = RunIdentity(
        op=spec.op,
        side=spec.side,
        caliber=caliber_of(request, spec, manifest, facts, device, shapes=announced, code=code),
        build=manifest.fingerprint(),
        switches=dict(side.switches),
        provider=request.provider.name,
        vendor=process.get("vendor") or _vendor_asked_for(request),
        device_uuid=device.uuid,
        device_name=device.name,
        card_settings=device.settings,
        foreign_processes=device.foreign,
        cards_beside=_cards_beside(cell_dir, device),
        tuner_choices=tuning.count_choices(cell_dir),
        tuner_entries_before=tuned.get("entries_before"),
        tuner_entries_after=tuned.get("entries_after"),
        tuner_foreign=tuple(dict.fromkeys(writer for _, writer in tuning.read_choices(cell_dir).foreign)),
        compile_cache="shared" if request.share_cache else "isolated",
        plugin_names=spec.plugins,
        forced_pairing=forced_pairing(request, manifest) or None,
        timer_reason=request.timer_reason or None,
        hooks=process.get("hooks") or {},
        zlbench=zlbench.__version__,
    )
    with store.clear_errors(cell_dir):
        identity.write(cell_dir)
    return identity
