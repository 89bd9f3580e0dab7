"""The card that cells are measured on, looked at before the first and after each of them: what it is, who else uses it.

Looked at between cells only: then no process of ours is on the card, so that whoever is there is somebody else, also in
a container whose process ids are not those that the tool prints.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from zlbench import card_lock, cards, store
from zlbench.backend import Backend
from zlbench.smi import CardFacts

CARD = "card.json"
"""Facts of the card and who used it while a cell was measured, in the cell's directory."""
BUSY = "CARD_BUSY"
NOT_LOCKED = "CARD_NOT_LOCKED"


class CardWatch:
    """Looks at one card; a family without devices, or without a tool that answers, costs nothing more.

    Args:
        devices: cards that measured processes may use; the first is measured on.
        say: told lines for people.
    """

    def __init__(
        self, backend: Backend, env: Mapping[str, str], devices: tuple[str, ...] | None, say: Callable[[str], None]
    ) -> None:
        self._backend = backend
        self._env = {name: value for name, value in env.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
        self._devices = devices
        self._say = say
        self._cards: tuple[CardFacts, ...] = ()
        self._card: CardFacts | None = None
        self._locked: CardFacts | None = None
        """The card that we have to ourselves; the one that a process then uses may be another."""
        self._reason = "not asked"
        self._last = cards.Use()

    @contextmanager
    def watching(self, directory: Path, *, wait_s: float) -> Iterator[None]:
        """Find the card and have it to ourselves, as far as zlbench goes, inside the block; report whoever is on it.

        Measured is all the same where the tool does not answer, and beside programs that are not zlbench.

        Args:
            directory: where results are written, for another zlbench that asks who is on the card.
            wait_s: seconds to wait for another zlbench.

        Raises:
            PreflightError: another zlbench measures on it (CARD_IN_USE).
        """
        if self._backend.deviceless:
            yield
            return
        answer = cards.cards_of(self._backend, self._env)
        self._cards, self._reason = answer.values, answer.reason
        names = ("0",) if self._devices is None else self._devices
        self._card = next(iter(cards.in_order(self._cards, names)), None)
        self._locked = self._card
        locked = names[:1] if self._card is None else (str(self._card.index),)
        with alone(
            self._backend, self._cards, locked, env=os.environ, directory=directory, wait_s=wait_s, say=self._say
        ):
            self._report(names)
            yield

    def _report(self, names: Sequence[str]) -> None:
        if self._card is None:
            named = f"the tool does not know card {','.join(names)}" if names else "no card is visible"
            self._reason = self._reason or named
            self._say(f"note: driver, clocks and other users of the card are unknown: {self._reason}")
            return
        self._say(f"card {self._card.index}: {self._card.name or 'no name'}, driver {self._card.driver or 'unknown'}")
        self._last = cards.use_of(self._backend, self._card, self._env)
        for line in self._last.lines():
            self._say(f"{BUSY} card={self._card.index} {line}: its times are shared with ours; measured all the same")
        if self._last.reason:
            self._say(f"note: who else uses the card is unknown: {self._last.reason}")

    def after(self, cell_dir: Path) -> None:
        """Look again, and write what is known into the cell's directory; a busy card becomes a marker of the cell."""
        if self._backend.deviceless:
            return
        uses = [self._last]
        if self._card is not None:
            self._card = self._measured(cell_dir) or self._card
            # A tool that did not answer in time once would cost every cell as much.
            if not self._last.reason:
                self._last = cards.use_of(self._backend, self._card, self._env)
                uses.append(self._last)
        seen = _union([use.to_json() for use in uses]) if self._card is not None else None
        with store.clear_errors(cell_dir):
            if self._card is not None and self._locked is not None and self._card.index != self._locked.index:
                text = f"measured on card {self._card.index}, and it is card {self._locked.index} that was kept free"
                store.append_marker(cell_dir / "events.jsonl", NOT_LOCKED, text)
            for line in dict.fromkeys(line for use in uses for line in use.lines()):
                store.append_marker(cell_dir / "events.jsonl", BUSY, line)
        card = None if self._card is None else asdict(self._card)
        reason = self._reason or self._last.reason
        store.write_json(cell_dir / CARD, {"card": card, "foreign_processes": seen, "reason": reason})

    def _measured(self, cell_dir: Path) -> CardFacts | None:
        """The card that the process says it used: numbers of a tool and of a driver need not agree."""
        process: Mapping[str, Any] = store.read_json(cell_dir / "process.json") or {}
        uuid = str((process.get("device") or {}).get("uuid") or "")
        return cards.find(self._cards, uuid) if uuid else None


@contextmanager
def alone(
    backend: Backend, known: Sequence[CardFacts], names: Iterable[str], *, env: Mapping[str, str], directory: Path,
    wait_s: float, say: Callable[[str], None],
) -> Iterator[None]:  # fmt: skip
    """Have cards to ourselves, as far as zlbench goes, inside the block.

    Args:
        known: cards that the tool names; a lock goes by the UUID in there, whatever a card is called here.
        names: index or UUID of each card.
        directory, wait_s, say: as for `zlbench.card_lock.held`.
    """
    meant: dict[str, str] = {}
    for name in names:
        card = cards.find(known, name)
        meant.setdefault(card_lock.key_of(backend, card or name), f"card {card.index if card else name}")
    folder = card_lock.folder_of(env) if meant else None
    if meant and folder is None:
        say(f"note: no folder for lock files ({card_lock.SHARED}): another zlbench on the card would not be noticed")
    with ExitStack() as stack:
        # In one order, so that two that want several do not wait for each other.
        for key in sorted(meant if folder is not None else ()):
            assert folder is not None
            lock = card_lock.held(key, folder=folder, what=meant[key], directory=directory, wait_s=wait_s, say=say)
            stack.enter_context(lock)
        yield


def _union(lists: list[list[dict[str, object]] | None]) -> list[dict[str, object]] | None:
    """Everyone who was seen, once; None where nobody could ever look."""
    known = [found for found in lists if found is not None]
    people = {(item["pid"], item["name"]): item for found in known for item in found}
    return list(people.values()) if known else None
