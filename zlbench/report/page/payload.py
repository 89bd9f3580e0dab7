"""The data that the page's script reads, one block each."""

from __future__ import annotations

from typing import Any

from zlbench.report.page.embed import compact
from zlbench.report.page.exclusions import KINDS
from zlbench.report.page.looks import LOOKS, key_of
from zlbench.report.page.numbers import figures
from zlbench.report.page.operators import operators
from zlbench.report.page.parts import Parts
from zlbench.report.page.rows import rounds, row_columns
from zlbench.report.page.terms import explained_all
from zlbench.report.prose import wording
from zlbench.report.standing import Standing


def blocks(parts: Parts) -> dict[str, Any]:
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


def _main(parts: Parts) -> dict[str, Any]:
    summary = parts.summary
    inference = summary.inference
    metric = summary.header.metric
    directions = [wording.verdict(one, metric) for one in (Standing.FASTER, Standing.SLOWER)]
    return {
        "delta": figures(100 * parts.settings.delta), "interval": parts.interval, "directions": directions,
        "verdicts": [[wording.verdict(one, metric), *LOOKS[one], key_of(one)] for one in Standing],
        "kinds": KINDS, "judged": inference is not None,
        "ops": operators(parts.ops, metric),
        "rows": row_columns(parts.rows, parts.standings, metric, parts.settings.delta),
        "terms": {term.word: [term.cause, term.meaning, term.step] for term in explained_all(parts.words())},
    }  # fmt: skip
