"""What a page says in short, before any script runs: verdicts with their numbers, refusals, counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from zlbench.inference.types import Settings
from zlbench.report.page.address import address
from zlbench.report.page.exclusions import KINDS, Exclusion, by_reason
from zlbench.report.page.looks import LOOKS, key_of
from zlbench.report.page.terms import explained, standing_meaning
from zlbench.report.prose import wording
from zlbench.report.standing import CHANGED, Standing
from zlbench.report.summary import Summary


@dataclass(frozen=True, kw_only=True, slots=True)
class Tile:
    """One verdict with how many rows have it."""

    word: str
    look: str
    sign: str
    rows: int
    share: float
    before: float
    """Share of the rows before it, for a bar; both in percent."""
    meaning: str
    href: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """A reason with how many things were left out by it."""

    kind: str
    word: str
    count: int
    cause: str
    """What the word means, else the text that all of them share."""
    href: str


def tiles(summary: Summary, standings: Sequence[Standing], settings: Settings) -> list[Tile]:
    """Verdicts of subject rows (`standings`), those without any left out."""
    rows = Counter(standings)
    total = sum(rows.values()) or 1
    found: list[Tile] = []
    for one in Standing:
        if not rows[one] and not (one in CHANGED and summary.measured):
            continue
        look, sign = LOOKS[one]
        found.append(
            Tile(
                word=wording.verdict(one, summary.header.metric), look=look, sign=sign, rows=rows[one],
                share=round(100 * rows[one] / total, 3),
                before=round(sum(tile.share for tile in found), 3),
                meaning=standing_meaning(one, settings), href=address(verdict=key_of(one)),
            )
        )  # fmt: skip
    return found


def refusals(found: Sequence[Exclusion]) -> list[Refusal]:
    """What was left out, by reason, with what the reason means."""
    return [
        Refusal(
            kind=KINDS[kind], word=word, count=len(items), cause=_cause(word, {item.text for item in items}),
            href=address(left=word or kind),
        )
        for (kind, word), items in by_reason(found)
    ]  # fmt: skip


def _cause(word: str, texts: set[str]) -> str:
    term = explained(word)
    if term is not None:
        return term.cause
    return next(iter(texts)) if len(texts) == 1 else ""


def counts(summary: Summary) -> list[tuple[str, int]]:
    """What is missing or not as it should be; said also where it is none."""
    found = summary.counts
    return [
        ("lost rows", found.lost), ("replay fallbacks", found.replay_fallback), ("graph fallbacks", found.no_cudagraph),
        ("captures poisoned", found.poisoned), ("invalid pairs", found.invalid), ("pairs re-run", found.rerun),
        ("failed cells", found.failed),
    ]  # fmt: skip


def headline(summary: Summary, standings: Sequence[Standing]) -> str:
    """One sentence: how many of the subject rows (`standings`) changed."""
    said = Counter(standings)
    verdicts = ((said[one], wording.verdict(one, summary.header.metric)) for one in CHANGED)
    changed = ", ".join(f"{number:,} {word}" if number else f"none {word}" for number, word in verdicts)
    return f"{_many(len(standings), 'row')} in {_many(len(summary.subjects), 'operator')}: {changed}."


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def mean_of_operators(summary: Summary) -> str:
    """``+0.81 % (−0.20…+1.80)``; empty where there is none."""
    found = summary.inference.campaign if summary.inference else None
    if found is None or found.estimate is None:
        return ""
    span = f" ({wording.change(found.low)} … {wording.change(found.high)})" if found.low is not None else ""
    return f"{wording.change(found.estimate)} %{span}"
