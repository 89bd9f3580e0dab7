"""What both the page's template and its script are made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from zlbench.inference.types import Settings
from zlbench.report.page.exclusions import Exclusion, exclusions, word_of
from zlbench.report.page.kernels import Kernels, kernels
from zlbench.report.page.sightings import timeline
from zlbench.report.standing import Standing, standing
from zlbench.report.summary import OpSummary, RowSummary, Summary

_UNASKED = Settings(looks=((1, 1.0),))
"""Where no statistics were asked, delta is still drawn."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """A report, looked through once."""

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
    def of(cls, summary: Summary) -> Parts:
        """Look through it."""
        ops = (*summary.subjects, *summary.controls)
        rows = tuple(row for op in ops for row in op.rows)
        source = summary.source
        return cls(
            summary=summary, ops=ops, rows=rows, standings=tuple(map(standing, rows)), left_out=exclusions(ops),
            kernels=kernels(ops),
            settings=summary.inference.settings if summary.inference else _UNASKED,
            timeline=timeline(source.cells, source.telemetry) if source else {},
        )  # fmt: skip

    @property
    def subjects(self) -> tuple[Standing, ...]:
        """Of subject rows."""
        return self.standings[: sum(len(op.rows) for op in self.summary.subjects)]

    @property
    def interval(self) -> str:
        """What the two ends beside an estimate are."""
        if self.summary.inference is None:
            return "Range of rounds"
        return f"{100 * (1 - self.settings.alpha):g} % interval"

    def words(self) -> Iterator[str]:
        """Words in capitals, and flags of the statistics, that this report uses."""
        yield from (item.word for item in self.left_out)
        for cell in self.summary.source.cells if self.summary.source is not None else ():
            yield word_of(cell.invalid)
        if self.summary.inference is not None and not self.summary.inference.calibration.used:
            yield "UNCALIBRATED"
        for op in self.ops:
            yield op.op.verdict
            yield from (word for word, _ in (*op.op.fallbacks, *op.op.markers))
            for row in op.rows:
                yield from row.result.flags if row.result else ()
