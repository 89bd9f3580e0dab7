"""The chain as values: each step's command, and whether the next one follows what a step ended with. Starts nothing."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from zlbench import store
from zlbench.campaign.record import PARTITION, ROUNDS, SCREEN
from zlbench.errors import ExitCode
from zlbench.identity import read_identity
from zlbench.rounds.names import PLAN
from zlbench.rounds.plan import RepeatPlan
from zlbench.rounds.raising import is_raised, option_of
from zlbench.screen.candidates import on_cards, read_candidates
from zlbench.settings.words import words_for

_OWN = ("resume", "dry_run", "json", "out", "list")
"""Options that a campaign answers itself."""
_OF_SCREEN = ("ops", "ops_file", "all")
"""Which operators: for the screen; rounds are told by what it found."""
VARIABLES = frozenset({"TEST_NODE", "OPS", "OP", "OP_FILE", "SCREEN", "AB_ROOT", "DRY_RUN"})
"""Of the caller, that would tell a step something else than its command does."""
_GO_ON: Mapping[str, frozenset[int]] = {
    # What was judged is measured; what could not be is in the table and in the exit code.
    "screen": frozenset({ExitCode.OK, ExitCode.OP_FAILED, ExitCode.PARTIAL, ExitCode.NOTHING_MEASURED}),
    "partition": frozenset({ExitCode.OK}),
    "ab_repeat": frozenset(ExitCode) - {ExitCode.USAGE, ExitCode.PREFLIGHT, ExitCode.INTERRUPTED},
    "report": frozenset(ExitCode) - {ExitCode.USAGE, ExitCode.PREFLIGHT, ExitCode.INTERRUPTED},
}
_AGAIN = frozenset({ExitCode.OP_FAILED, ExitCode.PARTIAL, ExitCode.TIMEOUT})
"""Codes of rounds that can be gone on with."""


def goes_on(name: str, code: int) -> bool:
    """Whether the next step follows a step that ended so."""
    return code in _GO_ON[name]


def rounds_status(root: Path) -> object:
    """What the rounds last said of themselves; their driver's number is in it, so each says something else."""
    return store.read_json(root / ROUNDS / store.STATUS)


def refused(root: Path, code: int, before: object) -> bool:
    """Whether rounds that ended with NOT_COMPARABLE never began; an operator that cannot be compared ends them so, too.

    Args:
        before: `rounds_status` as it was when the step was started.
    """
    return code == ExitCode.NOT_COMPARABLE and rounds_status(root) == before


def worth_another_try(code: int | None) -> bool:
    """Whether ``--resume`` starts finished rounds again, for what they lack."""
    return code in _AGAIN


def command(name: str, root: Path, words: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Arguments of a step. They are the same when it is started and when it goes on, but for the rounds'."""
    given = words_for(name, words, without=_OWN if name == "screen" else (*_OWN, *_OF_SCREEN))
    if name == "screen":
        return ("screen", *given, "--resume", str(root / SCREEN))
    if name == "partition":
        return ("partition", str(root / SCREEN), *given, *lanes(root / SCREEN, words), "--out", str(root))
    if name == "ab_repeat":
        rounds = root / ROUNDS
        if (rounds / PLAN).is_file():
            return ("ab_repeat", "--resume", str(rounds), *given)
        return ("ab_repeat", str(root), *given, "--root", str(rounds))
    return ("report", str(root), *given)


def with_rounds(
    root: Path, words: Mapping[str, Sequence[str]], given: Mapping[str, Sequence[str]]
) -> Mapping[str, Sequence[str]]:
    """What a campaign is asked, with as many rounds as its plan has: they may have been raised without the campaign.

    Args:
        given: what is asked now; it may ask for more.

    Raises:
        NotComparableError: it asks for fewer rounds than are planned.
    """
    if not (root / ROUNDS / PLAN).is_file():
        return words
    plan = RepeatPlan.read(root / ROUNDS)
    name = option_of(plan)
    if name in given:
        is_raised(plan, int(given[name][-1]), root / ROUNDS)
    elif name in words:
        return {**words, name: (*words[name][:-1], str(plan.schedule.rounds))}
    return words


def more_rounds(root: Path, words: Mapping[str, Sequence[str]]) -> bool:
    """Whether more rounds are asked for than were planned."""
    if not (root / ROUNDS / PLAN).is_file():
        return False
    plan = RepeatPlan.read(root / ROUNDS)
    asked = words.get(option_of(plan))
    return asked is not None and is_raised(plan, int(asked[-1]), root / ROUNDS)


def killed_cells(root: Path) -> frozenset[str]:
    """Cells of the screen that somebody killed, the system for want of memory included: no fault of the operator."""
    cells = (store.read_json(root / SCREEN / store.STATUS) or {}).get("cells", {})
    return frozenset(name for name, cell in cells.items() if cell.get("signal") == signal.SIGKILL)


def lanes(screen: Path, words: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Where nobody named cards: the one that was screened on; with no device one lane, as two would time each other."""
    if {"devices", "lanes"} & {*words} or not (screen / "screen.tsv").is_file():
        return ()
    candidates = read_candidates(screen)
    if not candidates or not on_cards(candidates):
        return ("--lanes", "1")
    found = [read_identity(screen / item.directory / side) for item in candidates for side in ("A", "B")]
    known = [identity.device_uuid for identity in found if identity is not None and identity.device_uuid]
    named = words.get("device", ())
    return ("--devices", known[0] if known else named[-1] if named else "0")


def nothing_to_measure(root: Path) -> str:
    """Why no rounds follow; "" where some do."""
    partition = store.read_json(root / PARTITION) or {}
    if any(op["kind"] == "subject" for lane in partition.get("lanes", ()) for op in lane["ops"]):
        return ""
    return "the screen found no operator whose machine code differs or may differ, so there is nothing to measure"
