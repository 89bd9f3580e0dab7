"""Every word that a page uses, with its explanation: those of zlbench.markers, and those of the figures."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from zlbench.inference.types import Settings
from zlbench.markers import MARKERS
from zlbench.report.prose.wording import verdict
from zlbench.report.standing import Standing
from zlbench.rounds.names import Metric


@dataclass(frozen=True, kw_only=True, slots=True)
class Term:
    """One word.

    Args:
        cause, meaning, step: of a word in capitals, as ``zlbench explain`` has them; a figure has its meaning alone.
    """

    word: str
    meaning: str
    cause: str = ""
    step: str = ""


_FIGURES: tuple[tuple[str, str], ...] = (
    ("row", "One operator with one dtype and one input: what is timed on both sides."),
    ("round", ("A row measured on A and on B, close together on one card. Which side comes first changes from round to "
     "round, so that neither a warming card nor the second place is taken for the change.")),
    ("control", ("An operator whose machine code is the same on both sides. What it shows is noise and bias of the "
     "measurement, and is subtracted from every row.")),
    ("change", ("Mean over the rounds of ln B − ln A, as percent: above 0, B takes longer. What controls show is "
     "subtracted. ~ stands where no difference is told from none; the plots show the estimate all the same.")),
    ("interval", ("Where the true change lies in {confidence} of such campaigns. It allows for every look that was "
     "taken at the data while it came in.")),
    ("δ", "A change below ±{delta} is too small to matter. The plots shade it."),
    ("noise A / B", "Standard deviation of one side over its rounds, relative to it."),
    ("signs", ("Rounds whose change has the sign of the estimate, of all. It describes and decides nothing: of three "
     "rounds with no difference, all agree in one case of four.")),
    ("MDE", "Smallest change that so many rounds detect in four cases of five. What is smaller may be there, unseen."),
    ("floor", ("Noise of the same side against itself, from neighbouring rounds: 95 % of its means are smaller. A "
     "change below it is not called slower or faster.")),
    ("q", ("Of all rows called slower or faster, at most {q} are expected to be called so wrongly. A row is called so "
     "only with a q of at most that.")),
    ("order effect", "What coming second in a round costs by itself, with its p. Rounds in both orders cancel it."),
)  # fmt: skip
_STANDINGS: dict[Standing, str] = {
    Standing.SLOWER: "B takes longer: q is small enough, the interval is above 0, the change beyond the floor.",
    Standing.FASTER: "B is shorter: q is small enough, the interval is below 0, the change beyond the floor.",
    Standing.NO_DIFFERENCE: "The whole interval lies inside ±{delta}: if there is a change, it is too small to matter.",
    Standing.NOT_DETECTABLE: "No change was found, and one of more than the MDE would have been.",
    Standing.INCONCLUSIVE: "Too noisy for so few rounds: neither a change nor its absence can be told.",
    Standing.INVALID: "There are readings, and no verdict may rest on them. The reason stands beside it.",
    Standing.NOT_COMPARABLE: "Both sides measured the row, each in its own way: nothing is concluded.",
    Standing.LOST: "A side did not measure the row.",
    Standing.NOT_MEASURED: "No valid round has the row on both sides.",
    Standing.UNJUDGED: "There are readings, and no statistics were asked.",
}


def figures(settings: Settings, used: Collection[Standing], metric: Metric | None) -> list[Term]:
    """The words above columns and beside plots, and those verdicts that a report uses."""
    said = {
        "delta": f"{100 * settings.delta:g} %", "q": f"{100 * settings.q:g} %",
        "confidence": f"{100 * (1 - settings.alpha):g} %",
    }  # fmt: skip
    found = [Term(word=word, meaning=meaning.format_map(said)) for word, meaning in _FIGURES]
    verdicts = [one for one in Standing if one in used]
    return found + [Term(word=verdict(one, metric), meaning=_STANDINGS[one].format_map(said)) for one in verdicts]


def standing_meaning(one: Standing, settings: Settings) -> str:
    """What a verdict says, in one sentence."""
    return _STANDINGS[one].format_map({"delta": f"{100 * settings.delta:g} %"})


def explained(word: str) -> Term | None:
    """A word that data may hold, in capitals or a flag of the statistics; None where nobody has explained it."""
    marker = MARKERS.get("UNCALIBRATED" if word == "uncalibrated" else word)
    if marker is None:
        return None
    return Term(word=word, meaning=marker.meaning, cause=marker.cause, step=marker.next_step)


def explained_all(words: Iterable[str]) -> list[Term]:
    """Those of these words that are explained, each once, in order of the alphabet."""
    return [term for word in sorted(set(words)) if (term := explained(word)) is not None]
