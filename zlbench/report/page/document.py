"""The parts of the page put together: what its template needs, and the data that its script reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from zlbench.inference.types import Calibration, Settings
from zlbench.report import wording
from zlbench.report.page import overview
from zlbench.report.page.embed import as_json, compact, policy, script, style
from zlbench.report.page.exclusions import KINDS, Exclusion, exclusions, word_of
from zlbench.report.page.identities import fields
from zlbench.report.page.kernels import Kernels, kernels
from zlbench.report.page.numbers import figures
from zlbench.report.page.operators import operators
from zlbench.report.page.rows import rounds, row_columns
from zlbench.report.page.sightings import timeline
from zlbench.report.page.terms import Term, explained_all
from zlbench.report.page.terms import figures as figure_terms
from zlbench.report.standing import Standing, standing
from zlbench.report.summary import OpSummary, RowSummary, Summary
from zlbench.text import plural

_LISTED = 500
"""Exclusions that a page without script lists."""
_SIDES_UNKNOWN = Settings(looks=((1, 1.0),))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Parts:
    """What both the template and the script are made from."""

    summary: Summary
    settings: Settings
    ops: tuple[OpSummary, ...]
    rows: tuple[RowSummary, ...]
    standings: tuple[Standing, ...]
    """Of all rows, in order; those of subjects come first."""
    left_out: list[Exclusion]
    kernels: Kernels
    timeline: dict[str, Any]

    @classmethod
    def of(cls, summary: Summary) -> _Parts:
        ops = (*summary.subjects, *summary.controls)
        rows = tuple(row for op in ops for row in op.rows)
        source = summary.source
        return cls(
            summary=summary, ops=ops, rows=rows, standings=tuple(map(standing, rows)), left_out=exclusions(ops),
            kernels=kernels(ops),
            settings=summary.inference.settings if summary.inference else _SIDES_UNKNOWN,
            timeline=timeline(source.cells, source.telemetry) if source else {},
        )  # fmt: skip

    @property
    def subjects(self) -> tuple[Standing, ...]:
        """Of subject rows."""
        return self.standings[: sum(len(op.rows) for op in self.summary.subjects)]


def context(summary: Summary, made: str = "") -> dict[str, Any]:
    """Everything that the template names."""
    parts = _Parts.of(summary)
    compared = fields(summary.source.sides) if summary.source else []
    slower, faster, scale = overview.largest(summary, parts.subjects, parts.settings)
    lines, op_scale = overview.operator_lines(summary, parts.standings, parts.settings)
    longer, shorter = (wording.verdict(one, summary.header.metric) for one in (Standing.SLOWER, Standing.FASTER))
    return {
        "header": summary.header, "planned": summary.planned, "made": made, "measured": summary.measured,
        "reason": summary.reason or wording.NOTHING, "what": wording.what(summary), "claim": wording.claim(summary),
        "notes": _notes(summary), "findings": summary.findings,
        "commands": summary.source.commands if summary.source else (),
        "headline": overview.headline(summary, parts.subjects), "mean": overview.mean_of_operators(summary),
        "convention": wording.convention(summary.header.metric),
        "tiles": overview.tiles(summary, parts.subjects, parts.settings),
        "longer": longer, "shorter": shorter, "slower": slower, "faster": faster, "scale": scale,
        "counts": overview.counts(summary), "causes": wording.causes(summary),
        "refusals": overview.refusals(parts.left_out), "omitted": _omitted(parts.kernels),
        "operators": lines, "op_scale": op_scale, "interval_name": _interval_name(parts),
        "controls_line": wording.controls_line(summary), "calibration": _calibration(summary),
        "timeline": bool(parts.timeline), "left_out": _listed(parts), "identity": bool(compared),
        "different": [field for field in compared if field.differs],
        "alike": [field for field in compared if not field.differs], "words": _words(parts),
        "policy": policy(), "style": style(), "script": script(),
        "data": [(name, as_json(value)) for name, value in _data(parts).items()],
    }  # fmt: skip


def _notes(summary: Summary) -> list[str]:
    """What people must know before they read a number."""
    progress = [summary.progress] if summary.progress else []
    return [*progress, *wording.alarms(summary), *summary.header.warnings, *wording.notes(summary)]


def _interval_name(parts: _Parts) -> str:
    if parts.summary.inference is None:
        return "Range of rounds"
    return f"{100 * (1 - parts.settings.alpha):g} % interval"


def _omitted(found: Kernels) -> str:
    if not found.omitted:
        return ""
    shown = ", ".join(found.operators[:5]) + (", …" if len(found.operators) > 5 else "")
    diffs = f"{found.omitted:,} IR diff{'' if found.omitted == 1 else 's'}"
    return (
        f"{diffs} found no room in this page, those with the fewest changed lines "
        f"(of {shown}). zlbench diff OP shows them."
    )


def _calibration(summary: Summary) -> str:
    found = summary.inference.calibration if summary.inference else Calibration(used=False)
    if not found.used:
        return ""
    return (
        f"Their mean, {wording.change(found.bias)} %, is subtracted from every row; between operators equal code is "
        f"{wording.change(found.between).lstrip('+')} % apart (standard deviation), which widens every interval."
    )


def _listed(parts: _Parts) -> list[str]:
    """The exclusions as lines, for a page whose script does not run."""
    lines = [_line(parts, item) for item in parts.left_out[:_LISTED]]
    more = len(parts.left_out) - len(lines)
    return [*lines, f"and {plural(more, 'more')}: report.json has them all"] if more else lines


def _line(parts: _Parts, item: Exclusion) -> str:
    op = parts.ops[item.op]
    first = sum(len(other.rows) for other in parts.ops[: item.op]) if item.row >= 0 else 0
    row = f" {wording.name_of(op.rows[item.row - first])}" if item.row >= 0 else ""
    said = " ".join(dict.fromkeys(filter(None, (item.word if item.word not in item.text else "", item.text))))
    return f"{op.op.op}{row}: {KINDS[item.kind]}: {said}"


def _words(parts: _Parts) -> list[tuple[str, list[Term]]]:
    """Every word of this report in capitals, then those of the figures."""
    used = list(explained_all(_used(parts)))
    return [
        ("Words of this report", used),
        ("Figures and verdicts", figure_terms(parts.settings, parts.standings, parts.summary.header.metric)),
    ]


def _used(parts: _Parts) -> Iterator[str]:
    yield from (item.word for item in parts.left_out)
    for cell in parts.summary.source.cells if parts.summary.source is not None else ():
        yield word_of(cell.invalid)
    if parts.summary.inference is not None and not parts.summary.inference.calibration.used:
        yield "UNCALIBRATED"
    for op in parts.ops:
        yield op.op.verdict
        yield from (word for word, _ in (*op.op.fallbacks, *op.op.markers))
        for row in op.rows:
            yield from row.result.flags if row.result else ()


def _data(parts: _Parts) -> dict[str, Any]:
    """One block each; the script reads all but the first when somebody looks at them."""
    return {
        "main": _main(parts),
        "rounds": rounds(parts.ops),
        "kernels": {"entries": parts.kernels.entries, "words": parts.kernels.words},
        "diffs": parts.kernels.diffs,
        "card": parts.timeline,
        "out": [
            compact(
                (("kind", item.kind), ("op", item.op), ("row", item.row if item.row >= 0 else None),
                 ("word", item.word), ("text", item.text), ("rounds", list(item.rounds)))
            )
            for item in parts.left_out
        ],
    }  # fmt: skip


def _main(parts: _Parts) -> dict[str, Any]:
    summary = parts.summary
    inference = summary.inference
    metric = summary.header.metric
    directions = [wording.verdict(one, metric) for one in (Standing.FASTER, Standing.SLOWER)]
    return {
        "delta": figures(100 * parts.settings.delta), "interval": _interval_name(parts), "directions": directions,
        "verdicts": [[wording.verdict(one, metric), *overview.LOOKS[one], overview.key_of(one)] for one in Standing],
        "kinds": KINDS, "judged": inference is not None,
        "ops": operators(parts.ops, metric),
        "rows": row_columns(parts.rows, parts.standings, metric, parts.settings.delta),
        "terms": {term.word: [term.cause, term.meaning, term.step] for term in explained_all(_used(parts))},
    }  # fmt: skip
