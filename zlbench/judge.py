"""The verdict on one operator, from the finished directories of its two cells. Screen and rescore both judge here."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from zlbench import store, tuning
from zlbench.cells import CellOutcome, CellState, read_json_lines
from zlbench.ir.errors import IrError
from zlbench.ir.fingerprint import IrComparison, IrFingerprint, compare, fingerprint_dir
from zlbench.text import plural


class Verdict(str, Enum):
    """What a screen says of an operator. The first four are the predecessor's words."""

    IR_CHANGED = "IR_CHANGED"
    NO_IR_DIFF = "NO_IR_DIFF"
    NO_TRITON = "NO_TRITON"
    NO_ROWS = "NO_ROWS"
    INCOMPLETE = "INCOMPLETE"
    CACHE_NOT_FRESH = "CACHE_NOT_FRESH"
    NOT_COMPARABLE = "NOT_COMPARABLE"


class MachineCode(str, Enum):
    """Whether the executable code of the kernels differs; a level of its own, below the IR."""

    SAME = "same"
    CHANGED = "changed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Kernel:
    """One compiled variant as index.tsv lists it."""

    id: str
    name: str
    files: tuple[str, ...]
    launches: int
    code: str
    shared: int | None
    compile_ms: float | None
    raw: str = ""
    """SHA-256 of the TTGIR as the compiler wrote it, source locations and all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SideFacts:
    """What one cell left, read from its directory."""

    outcome: CellOutcome
    rows: tuple[str, ...]
    """Names of the rows that succeeded."""
    kernels: Mapping[str, Kernel]
    fingerprint: IrFingerprint
    failures: tuple[str, ...]
    unreadable: str = ""
    """Which IR cannot be read, or was never written for a kernel that ran: nothing can be said of it."""
    blind: str = ""
    """Which hooks this Triton lacks: kernels ran that nobody saw."""
    tuned: frozenset[str] = frozenset()
    """Names of kernels whose config an autotuner chose."""
    tuned_anew: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Names of kernels whose config should have been replayed and was chosen anew: how often, by reason."""

    @classmethod
    def read(cls, cell_dir: Path, stamps: Sequence[str]) -> SideFacts:
        """Read a cell directory; one that was never run gives an empty side."""
        result = store.read_json(cell_dir / store.RESULT)
        outcome = CellOutcome.told(result) or CellOutcome(state=CellState.NOT_RUN, returncode=-1)
        ttgir = cell_dir / "ttgir"
        rows = read_json_lines(cell_dir / "rows.jsonl")
        kernels = {kernel.id: kernel for kernel in read_index(ttgir / "index.tsv") if kernel.launches}
        fingerprint, unreadable = IrFingerprint(files={}, stamps=tuple(stamps)), ""
        try:
            fingerprint = fingerprint_dir(ttgir, stamps) if ttgir.is_dir() else fingerprint
        except IrError as error:
            unreadable = error.message
        without = [name for name, text in _texts(kernels, fingerprint).items() if text is None]
        if without and not unreadable:
            unreadable = f"no TTGIR of {without[0]}" + (f" and {len(without) - 1} more" if without[1:] else "")
        return cls(
            outcome=outcome,
            rows=tuple(row["row"] for row in rows if row["status"] == "SUCCESS"),
            kernels=kernels,
            fingerprint=fingerprint,
            failures=tuple(_failure(row) for row in rows if row["status"] != "SUCCESS"),
            unreadable=unreadable,
            blind=_blind(cell_dir, outcome),
            tuned=frozenset(
                str(record.get("kernel")) for record in read_json_lines(cell_dir / "autotune_records" / "pinned.jsonl")
            ),
            tuned_anew=tuning.read_choices(cell_dir).fallbacks,
        )

    @property
    def ran(self) -> bool:
        """Whether the cell came to its own end, with or without failed rows."""
        return self.outcome.state in (CellState.OK, CellState.OP_FAILED)

    @property
    def whole(self) -> bool:
        """Whether everything asked for was measured and seen, so that what is not here was not compiled."""
        return self.ran and not self.failures and not self.outcome.rows_not_measured and not self.blind


_HOOKS = ("knobs", "compilation.listener", "kernel_load_end_hook", "launch_enter_hook")
"""Without any one of these, kernels can be compiled or launched unseen."""


def _blind(cell_dir: Path, outcome: CellOutcome) -> str:
    """What of a cell's kernels could not be seen: by its marker, else by the hooks that its process noted."""
    marked = next((text for word, text in outcome.marked() if word == "IR_HOOKS_MISSING"), "")
    hooks: Mapping[str, Any] = (store.read_json(cell_dir / "process.json") or {}).get("hooks") or {}
    lacking = [name for name in _HOOKS if hooks.get(name) is False]
    return marked or (f"this Triton lacks {', '.join(lacking)}" if lacking else "")


def _failure(row: Mapping[str, Any]) -> str:
    shape = "" if row.get("shape") is None else f" shape {row['shape']}"
    where = f" {row['label']}" if row.get("label") else shape
    return f"{row['dtype']}{where}: {row.get('failure')} {row.get('error', '')}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """Verdict on one operator, with the reason and the next step."""

    verdict: Verdict
    machine_code: MachineCode
    reason: str
    next_step: str
    kernels: int
    ir_changed: int
    code_changed: int
    raw_changed: int
    """Kernels whose TTGIR differs in bytes before anything is normalised."""
    rows_matched: int
    rows_expected: int
    changed_kernels: tuple[str, ...] = ()
    replay_fallbacks: int = 0
    """Choices of autotuners that should have been replayed and were made anew."""

    @property
    def failed(self) -> bool:
        """Whether the operator could not be judged as asked."""
        return self.verdict not in (Verdict.IR_CHANGED, Verdict.NO_IR_DIFF, Verdict.NO_TRITON)


def judge(a: SideFacts, b: SideFacts) -> Judgement:
    """Compare what both sides compiled.

    A verdict needs both sides whole: where one lost rows, what is missing may be what changed, or what did not. That
    holds for rows that both sides lost as well. The reason then still says what the kernels on both sides show.
    """
    comparison = compare(a.fingerprint, b.fingerprint)
    whole = a.whole and b.whole and set(a.rows) == set(b.rows)
    ir_changed = _ir_changed(a, b, whole=whole)
    shared = [(kernel, b.kernels[name]) for name, kernel in a.kernels.items() if name in b.kernels]
    # Code that could not be read is neither the same nor another.
    code_changed = {one.id for one, other in shared if one.code and other.code and one.code != other.code}
    if whole:
        code_changed |= set(a.kernels) ^ set(b.kernels)
    unknown = any(not one.code or not other.code for one, other in shared)
    code = MachineCode.CHANGED if code_changed else MachineCode.UNKNOWN if unknown else MachineCode.SAME
    verdict, reason = _verdict(a, b, comparison, ir_changed, whole=whole)
    return Judgement(
        verdict=verdict,
        machine_code=code if a.kernels or b.kernels else MachineCode.UNKNOWN,
        reason=reason,
        next_step=_next_step(verdict, code),
        kernels=len(a.kernels.keys() | b.kernels.keys()),
        ir_changed=len(ir_changed),
        code_changed=len(code_changed),
        raw_changed=sum(bool(one.raw and other.raw) and one.raw != other.raw for one, other in shared),
        rows_matched=len(set(a.rows) & set(b.rows)),
        rows_expected=max(_expected(a), _expected(b)),
        changed_kernels=tuple(sorted(ir_changed | code_changed)),
        replay_fallbacks=sum(sum(reasons.values()) for side in (a, b) for reasons in side.tuned_anew.values()),
    )


def not_comparable(judgement: Judgement, reason: str) -> Judgement:
    """Withdraw a verdict: the two sides answered different questions."""
    verdict = Verdict.NOT_COMPARABLE
    return replace(judgement, verdict=verdict, reason=reason, next_step=_next_step(verdict, judgement.machine_code))


def _ir_changed(a: SideFacts, b: SideFacts, *, whole: bool) -> set[str]:
    """Ids of kernels whose normalised IR differs or, where both sides are whole, that one side lacks.

    By kernel and not by path: the names of variants depend on what else is in their group.
    """
    texts_a, texts_b = _texts(a.kernels, a.fingerprint), _texts(b.kernels, b.fingerprint)
    changed = {name for name, text in texts_a.items() if text and texts_b.get(name) not in (None, text)}
    return changed | (set(texts_a) ^ set(texts_b)) if whole else changed


def _texts(kernels: Mapping[str, Kernel], fingerprint: IrFingerprint) -> dict[str, str | None]:
    """Digest of each kernel's IR, the same wherever it stands; None where no file of it is there."""
    files = fingerprint.files
    return {
        name: next((files[file] for file in kernel.files if file in files), None) for name, kernel in kernels.items()
    }


def _verdict(
    a: SideFacts, b: SideFacts, comparison: IrComparison, ir_changed: set[str], *, whole: bool
) -> tuple[Verdict, str]:
    sides = (("A", a), ("B", b))
    if not a.rows or not b.rows:
        return Verdict.NO_ROWS, _of_sides((label, _why_no_rows(side)) for label, side in sides if not side.rows)
    if a.blind or b.blind:
        return Verdict.INCOMPLETE, f"IR_HOOKS_MISSING {_of_sides((label, side.blind) for label, side in sides)}"
    if not a.kernels and not b.kernels and whole:
        return Verdict.NO_TRITON, "rows were measured, but no kernel went through Triton"
    if a.unreadable or b.unreadable:
        return Verdict.INCOMPLETE, f"IR_UNREADABLE {_of_sides((label, side.unreadable) for label, side in sides)}"
    if not whole:
        return Verdict.INCOMPLETE, _why_incomplete(a, b, len(ir_changed))
    if ir_changed:
        one_sided = len(a.kernels.keys() ^ b.kernels.keys())
        extra = f", {one_sided} of them on one side only" if one_sided else ""
        retuned = _retuned(a, b)
        extra += f"; B compiled another config than A of {', '.join(retuned)}" if retuned else ""
        changed = {side.kernels[name].name for side in (a, b) for name in ir_changed & side.kernels.keys()}
        if changed <= _of_another_choice(a, b):
            return Verdict.INCOMPLETE, f"AUTOTUNE_REPLAY_FALLBACK {_why_anew(a, b)}: whatever differs may be the config"
        anew = sorted(changed & (a.tuned_anew.keys() | b.tuned_anew.keys()))
        extra += f"; the config of {', '.join(anew)} was not replayed but tuned anew" if anew else ""
        return Verdict.IR_CHANGED, f"{_differ(len(ir_changed))} after normalising{extra}"
    if not comparison.same:
        if _of_another_choice(a, b):
            return Verdict.INCOMPLETE, f"AUTOTUNE_REPLAY_FALLBACK {_why_anew(a, b)}: other rows may be the config's"
        return Verdict.IR_CHANGED, "the same kernels were launched for other rows"
    stale = a.outcome.foreign_cache_hits + b.outcome.foreign_cache_hits
    if stale:
        return Verdict.CACHE_NOT_FRESH, f"{plural(stale, 'kernel')} came out of a cache that this side did not fill"
    return Verdict.NO_IR_DIFF, f"{_every(len(a.kernels), 'kernel')} equal after normalising"


def _of_sides(said: Iterable[tuple[str, str]]) -> str:
    """``A: this; B: that``, or ``A and B: this``; a side with nothing to say is left out."""
    labels: dict[str, list[str]] = {}
    for label, text in said:
        labels.setdefault(text, []).extend([label] if text else [])
    return "; ".join(f"{' and '.join(sides)}: {text}" for text, sides in labels.items() if text)


def _of_another_choice(a: SideFacts, b: SideFacts) -> set[str]:
    """Names of kernels that ran on another config than the recorded one for no reason of the compiler's."""
    names = a.tuned_anew.keys() | b.tuned_anew.keys()
    reasons = {name: {*a.tuned_anew.get(name, ()), *b.tuned_anew.get(name, ())} for name in names}
    return {name for name, found in reasons.items() if tuning.owed_to_choice(found)}


def _why_anew(a: SideFacts, b: SideFacts) -> str:
    """``k (key_missing 2)`` for every kernel that is `_of_another_choice`."""
    said = []
    for name in sorted(_of_another_choice(a, b)):
        counts = Counter(a.tuned_anew.get(name, {})) + Counter(b.tuned_anew.get(name, {}))
        said.append(f"{name} ({', '.join(f'{reason} {count}' for reason, count in sorted(counts.items()))})")
    return f"{', '.join(said)} tuned anew"


def _retuned(a: SideFacts, b: SideFacts) -> list[str]:
    """Autotuned kernels of which the sides share no variant: what differs is the choice of the config."""
    found = []
    for name in sorted(a.tuned & b.tuned):
        ids = [{kernel.id for kernel in side.kernels.values() if kernel.name == name} for side in (a, b)]
        if all(ids) and not ids[0] & ids[1]:
            found.append(name)
    return found


def _why_incomplete(a: SideFacts, b: SideFacts, changed: int) -> str:
    matched = len(set(a.rows) & set(b.rows))
    ends = ", ".join(f"{label} {_how_it_ended(side)}" for label, side in (("A", a), ("B", b)) if not side.ran)
    expected = max(_expected(a), _expected(b))
    shared = sum(name in b.kernels for name in a.kernels)
    return (
        f"only {matched} of {expected} rows exist on both sides; {ends or _first_failure(a, b)}; "
        f"of the {plural(shared, 'kernel')} on both sides {changed} {'differs' if changed == 1 else 'differ'}"
    )


def _why_no_rows(side: SideFacts) -> str:
    if side.failures and side.ran:
        first = ", first" if len(side.failures) > 1 else ""
        return f"{_every(len(side.failures), 'row')} failed{first}: {side.failures[0]}"
    return _how_it_ended(side)


def _every(count: int, noun: str) -> str:
    return f"all {count} {noun}s" if count != 1 else f"the only {noun}"


def _differ(count: int) -> str:
    return f"{plural(count, 'kernel')} {'differs' if count == 1 else 'differ'}"


def _how_it_ended(side: SideFacts) -> str:
    detail = f" ({side.outcome.detail})" if side.outcome.detail else ""
    return f"{side.outcome.state.value}{detail}"


def _first_failure(a: SideFacts, b: SideFacts) -> str:
    for label, side in (("A", a), ("B", b)):
        if side.failures:
            return f"{label} failed {side.failures[0]}"
    lost = max(side.outcome.rows_not_measured for side in (a, b))
    return f"{plural(lost, 'row')} {'was' if lost == 1 else 'were'} not measured" if lost else "their rows differ"


def _expected(side: SideFacts) -> int:
    outcome = side.outcome
    return outcome.rows_ok + outcome.rows_failed + outcome.rows_not_measured


def _next_step(verdict: Verdict, code: MachineCode) -> str:
    if verdict is Verdict.IR_CHANGED:
        return "same code: control" if code is MachineCode.SAME else "ab_repeat"
    if verdict is Verdict.NO_IR_DIFF:
        return {
            MachineCode.CHANGED: "code differs: ab_repeat",
            MachineCode.SAME: "control",
            MachineCode.UNKNOWN: "code unknown: ab_repeat",
        }[code]
    return {
        Verdict.NO_ROWS: "see run.log",
        Verdict.NO_TRITON: "nothing to compare",
        Verdict.INCOMPLETE: "see run.log",
        Verdict.CACHE_NOT_FRESH: "drop --share-cache",
        Verdict.NOT_COMPARABLE: "one caliber for both",
    }[verdict]


def read_index(path: Path) -> list[Kernel]:
    """Read `ttgir/index.tsv`; an absent one means that nothing was compiled."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        return [
            Kernel(
                id=line["id"],
                name=line["kernel"],
                files=tuple(line["files"].split()),
                launches=int(line["launches"]),
                code=line["code"],
                shared=int(line["shared"]) if line["shared"] else None,
                compile_ms=float(line["compile_ms"]) if line["compile_ms"] else None,
                raw=line.get("ttgir_sha256") or "",
            )
            for line in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]
