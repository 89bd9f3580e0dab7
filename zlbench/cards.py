"""The cards of this machine: which there are, which one is meant, who uses it. A tool that hangs or is absent gives a
reason, never an error: measuring does not depend on it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from zlbench import proctree
from zlbench.backend import Backend
from zlbench.errors import PreflightError, UsageError
from zlbench.nearest import unknown
from zlbench.process import Command, run
from zlbench.smi import CardFacts, CardProcess, Query
from zlbench.text import in_words

PATIENCE_S = 15.0
"""A tool on a machine with eight cards needs seconds where no process keeps the driver awake."""
HIDDEN_MB = 256.0
"""More memory than an idle card has in use; the smallest context takes more."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer(Generic[T]):
    """What a tool said, or why it did not."""

    values: tuple[T, ...] = ()
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Use:
    """Who uses one card besides us.

    Args:
        foreign: processes that are not ours.
        hidden_mb: memory in use by processes that the tool does not show, as in a container; None for none.
        reason: why nobody can say, "" where the tool answered.
    """

    foreign: tuple[CardProcess, ...] = ()
    hidden_mb: float | None = None
    reason: str = ""

    @property
    def busy(self) -> bool:
        """Whether somebody else is known to be on the card."""
        return bool(self.foreign) or self.hidden_mb is not None

    def lines(self) -> list[str]:
        """Who it is, one line each: ``pid=41233 name=python``."""
        named = [f"pid={_word(process.pid)} name={_word(process.name)}" for process in self.foreign]
        hidden = "pid=unknown: memory is in use by processes that the tool does not show here"
        return named + [hidden] * (self.hidden_mb is not None)

    def to_json(self) -> list[dict[str, object]] | None:
        """For a cell's files: None where nobody can say."""
        if self.reason:
            return None
        listed: list[dict[str, object]] = [
            {"pid": process.pid, "name": process.name or None, "memory_mb": process.memory_mb}
            for process in self.foreign
        ]
        hidden: list[dict[str, object]] = [{"pid": None, "name": None, "memory_mb": self.hidden_mb}]
        return listed + hidden * (self.hidden_mb is not None)


def _word(value: int | str | None) -> str:
    return "unknown" if value in (None, "") else str(value)


def present(backend: Backend, root: Path = Path("/")) -> bool:
    """Whether a card of this family is there, by its device files: no process is started and nothing can hang."""
    return any(any(root.glob(pattern.lstrip("/"))) for pattern in backend.device_files)


def ask(query: Query[T] | None, env: Mapping[str, str], *, card: str = "") -> Answer[T]:
    """Put one question to the family's tool."""
    if query is None:
        return Answer(reason="this family has no tool to ask")
    if shutil.which(query.argv[0], path=env.get("PATH")) is None:
        if query.otherwise is not None:
            return ask(query.otherwise, env, card=card)
        return Answer(reason=f"{query.argv[0]} is not on PATH")
    command = Command(
        argv=query.command(card), env=env, cwd=Path("/"), timeout_s=PATIENCE_S, grace_s=1.0, starts_none=True
    )
    tool = Path(query.argv[0]).name
    try:
        outcome = run(command)
    except PreflightError as error:
        return Answer(reason=error.message)
    if outcome.timed_out:
        return Answer(reason=f"{tool} did not answer within {PATIENCE_S:.0f} s")
    if outcome.returncode:
        said = " ".join((outcome.stdout + outcome.stderr).split())[:200]
        return Answer(reason=f"{tool} failed with status {outcome.returncode}: {said or 'no word'}")
    return Answer(values=tuple(query.parse(outcome.stdout)))


def cards_of(backend: Backend, env: Mapping[str, str]) -> Answer[CardFacts]:
    """All cards of this machine, whatever is visible."""
    answer = ask(backend.cards, env)
    if answer.values or answer.reason:
        return answer
    return Answer(reason="its tool names no card")


def visibility_variable(backend: Backend, env: Mapping[str, str]) -> str:
    """The variable that chooses cards: the one that the caller has set, else the family's first; "" for none."""
    return next((name for name in backend.visibility if name in env), next(iter(backend.visibility), ""))


def chosen(backend: Backend, env: Mapping[str, str], device: str | None) -> tuple[str, ...] | None:
    """Names of the cards that a measured process may use; None where all are visible and none was asked for.

    Args:
        device: index (or UUID) among the cards that this process itself sees; several with commas.

    Raises:
        UsageError: it is not among them.
    """
    variable = visibility_variable(backend, env)
    listed = _words(env[variable]) if variable in env else None
    if not device or not variable:
        return listed
    if listed is None:
        return _words(device)
    return tuple(_among(word, listed, variable) for word in _words(device))


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _among(word: str, listed: tuple[str, ...], variable: str) -> str:
    if word.isdecimal() and int(word[:6]) < len(listed):
        return listed[int(word[:6])]
    if not word.isdecimal() and word in listed:
        return word
    raise UsageError(
        f"device {word} is not among those that this process sees: {variable}={','.join(listed)}",
        hint="Indices count within that list, from 0; a UUID must be in it.",
    )


def require(backend: Backend, env: Mapping[str, str], names: Sequence[str]) -> None:
    """Refuse a card by a number that is not there; a tool that does not answer knows nothing, and refuses nothing.

    A UUID is let through: the parts of a card that somebody has divided have some of their own.

    Raises:
        UsageError: it names the cards that there are.
    """
    # What is on a path for measured processes would be the tool's as well, where that is a script.
    own = {name: value for name, value in env.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    there = cards_of(backend, own).values
    gone = [name for name in names if name.isdecimal() and find(there, name) is None]
    if there and gone:
        numbers = in_words([str(card.index) for card in there])
        raise UsageError(
            f"no card {gone[0]}; there {'is' if len(there) == 1 else 'are'} {numbers}", hint=_known_cards(there)
        )


def find(cards: Sequence[CardFacts], name: str) -> CardFacts | None:
    """The card of this index or UUID (or its beginning, as visibility variables allow); None where it is not there."""
    for card in cards:
        if name.isdecimal():
            if card.index == int(name):
                return card
        elif name and same_uuid(card.uuid, name):
            return card
    return None


def in_order(cards: Sequence[CardFacts], names: Sequence[str] | None) -> list[CardFacts]:
    """The cards of these names in their order, those that the tool does not know left out; all for None."""
    if names is None:
        return list(cards)
    return [card for name in names if (card := find(cards, name)) is not None]


def parse_devices(
    text: str | Sequence[str], cards: Sequence[CardFacts], *, visible: Sequence[str] | None = None
) -> tuple[CardFacts, ...]:
    """The cards of a list of indices and UUIDs, or of ``all``, in the order given.

    Args:
        text: divided by commas or blanks, or words of that kind.
        cards: cards of the machine, as its tool names them.
        visible: what the family's variable shows to this process: indices count within it, as for `chosen`.

    Raises:
        UsageError: a card is not there, or named twice, or the list is empty.
    """
    words = [word for part in ([text] if isinstance(text, str) else text) for word in part.replace(",", " ").split()]
    there = in_order(cards, visible)
    hint = _known_cards(there)
    if not words or not there:
        raise UsageError(
            "--devices names no card" if there else "no card is visible, so --devices has no use", hint=hint
        )
    if [word.lower() for word in words] == ["all"]:
        return tuple(there)
    found: dict[int, str] = {}
    taken = []
    for word in words:
        card = _card_named(word, there, counted=visible is not None)
        if card.index in found:
            same = "" if found[card.index] == word else f", as {found[card.index]} and as {word}"
            raise UsageError(
                f"--devices names card {card.index} twice{same}", hint="A card has one lane: name it once."
            )
        found[card.index] = word
        taken.append(card)
    return tuple(taken)


def _card_named(word: str, there: Sequence[CardFacts], *, counted: bool) -> CardFacts:
    if word.isascii() and word.isdecimal():
        numbers = range(len(there)) if counted else [card.index for card in there]
        matching = [card for card, number in zip(there, numbers, strict=True) if word.lstrip("0") == f"{number or ''}"]
    else:
        matching = [card for card in there if same_uuid(card.uuid, word)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise UsageError(f"{word} is the beginning of {len(matching)} UUIDs", hint=_known_cards(there))
    names = [str(card.index) for card in there] + [card.uuid for card in there if card.uuid]
    raise UsageError(unknown("card", word[:60], names), hint=_known_cards(there))


def _known_cards(there: Sequence[CardFacts]) -> str:
    listed = "; ".join(" ".join(filter(None, (str(card.index), card.uuid, card.name))) for card in there[:16])
    return f"Cards: {listed}." if there else "nox -s doctor says which cards there are, and why none is."


def same_uuid(left: str, right: str) -> bool:
    """Whether two spellings mean one card: torch leaves out the ``GPU-`` that tools print, and case differs."""
    a, b = (text.lower().removeprefix("gpu-").removeprefix("0x") for text in (left, right))
    return bool(a and b) and (a.startswith(b) or b.startswith(a))


def use_of(backend: Backend, card: CardFacts, env: Mapping[str, str]) -> Use:
    """Who uses a card now, our own process tree left out.

    In a container the tool may show no processes, or none of their ids. Then memory in use tells that somebody is
    there, and nothing is made up about who. To be asked while none of our cells runs: its own memory would count.
    """
    # By index, which every tool takes; of all cards, a tool would wake the sleeping ones.
    here_only = str(card.index)
    answer = ask(backend.processes, env, card=here_only)
    if answer.reason:
        return Use(reason=answer.reason)
    ours = proctree.ours()
    here = [process for process in answer.values if is_on(process, card)]
    if here:
        return Use(foreign=tuple(process for process in here if process.pid is None or process.pid not in ours))
    facts = find(ask(backend.cards, env, card=here_only).values, card.uuid or here_only)
    used = facts.memory_used_mb if facts is not None else None
    return Use(hidden_mb=used if used is not None and used > HIDDEN_MB else None)


def is_on(process: CardProcess, card: CardFacts) -> bool:
    """Whether a process is on a card; a tool that does not say which may mean this one."""
    if not process.card:
        return True
    return process.card == str(card.index) if process.card.isdecimal() else same_uuid(process.card, card.uuid)


def why_absent(backend: Backend, env: Mapping[str, str], root: Path = Path("/")) -> str:
    """What is missing on this machine, in one sentence; "" where nothing obvious is."""
    if backend.device_files and not present(backend, root):
        return (
            f"This machine has none of {', '.join(backend.device_files)}: no {backend.title} card, no driver loaded, "
            "or a container started without it."
        )
    tool = backend.cards.argv[0] if backend.cards is not None else ""
    if tool and shutil.which(tool, path=env.get("PATH", os.defpath)) is None:
        return f"{tool} is not on PATH, so the driver's own tools may be missing as well."
    return ""
