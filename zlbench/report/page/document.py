"""What the page's template is filled with."""

from __future__ import annotations

from typing import Any

from zlbench.inference.types import Calibration
from zlbench.report.page import lines, overview
from zlbench.report.page.embed import as_json, policy, script, style
from zlbench.report.page.exclusions import KINDS, Exclusion
from zlbench.report.page.identities import fields
from zlbench.report.page.kernels import Kernels
from zlbench.report.page.parts import Parts
from zlbench.report.page.payload import blocks
from zlbench.report.page.terms import Term, explained_all
from zlbench.report.page.terms import figures as figure_terms
from zlbench.report.prose import wording
from zlbench.report.standing import Standing
from zlbench.report.summary import Summary
from zlbench.text import plural

_LISTED = 500
"""Exclusions that a page without script lists."""


def context(summary: Summary, made: str = "") -> dict[str, Any]:
    """Everything that the template names."""
    parts = Parts.of(summary)
    compared = fields(summary.source.sides) if summary.source else []
    slower, faster, scale = lines.largest(summary, parts.subjects, parts.settings)
    operator_lines, op_scale = lines.operator_lines(summary, parts.standings, parts.settings)
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
        "operators": operator_lines, "op_scale": op_scale, "interval_name": parts.interval,
        "controls_line": wording.controls_line(summary), "calibration": _calibration(summary),
        "timeline": bool(parts.timeline), "left_out": _listed(parts), "identity": bool(compared),
        "different": [field for field in compared if field.differs],
        "alike": [field for field in compared if not field.differs], "words": _words(parts),
        "policy": policy(), "style": style(), "script": script(),
        "data": [(name, as_json(value)) for name, value in blocks(parts).items()],
    }  # fmt: skip


def _notes(summary: Summary) -> list[str]:
    """What people must know before they read a number."""
    progress = [summary.progress] if summary.progress else []
    return [*progress, *wording.alarms(summary), *summary.header.warnings, *wording.notes(summary)]


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


def _listed(parts: Parts) -> list[str]:
    """The exclusions as lines, for a page whose script does not run."""
    said = [_line(parts, item) for item in parts.left_out[:_LISTED]]
    more = len(parts.left_out) - len(said)
    return [*said, f"and {plural(more, 'more')}: report.json has them all"] if more else said


def _line(parts: Parts, item: Exclusion) -> str:
    op = parts.ops[item.op]
    first = sum(len(other.rows) for other in parts.ops[: item.op]) if item.row >= 0 else 0
    row = f" {wording.name_of(op.rows[item.row - first])}" if item.row >= 0 else ""
    said = " ".join(dict.fromkeys(filter(None, (item.word if item.word not in item.text else "", item.text))))
    return f"{op.op.op}{row}: {KINDS[item.kind]}: {said}"


def _words(parts: Parts) -> list[tuple[str, list[Term]]]:
    """Every word of this report in capitals, then those of the figures."""
    used = list(explained_all(parts.words()))
    return [
        ("Words of this report", used),
        ("Figures and verdicts", figure_terms(parts.settings, parts.standings, parts.summary.header.metric)),
    ]
