"""`repeat.json`: what is measured in rounds, in which lanes and how often; written first and whole. Only the number of
rounds can be raised later, and the plan remembers by what it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.errors import UsageError
from zlbench.partition_plan import Kind, Piece, piece_data, piece_of
from zlbench.rounds.names import PLAN, Metric

SCHEMA_VERSION = 1
LOOKS = (4, 8)
"""Rounds after which rows may be settled early; the last round is the last look."""
WEIGHTS = (0.1, 0.3)
"""Shares of the error probability that these looks may use; the last look has what is left."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """How many rounds: the last number is the most, those before it are looks at the rows.

    Args:
        raised: numbers that were the last until somebody wanted more. They are looks too: whoever raises a number has
            seen what it came to, or could have.
    """

    looks: tuple[int, ...]
    raised: tuple[int, ...] = ()

    @classmethod
    def until_settled(cls, rounds: int) -> Schedule:
        """Looks after 4 and 8 rounds, and after the last."""
        return cls(looks=(*(look for look in LOOKS if look < rounds), rounds))

    @property
    def rounds(self) -> int:
        """The most rounds that there can be."""
        return self.looks[-1]

    @property
    def fixed(self) -> bool:
        """Whether every operator gets all rounds."""
        return len(self.looks) == 1 + len(self.raised)

    @property
    def settling(self) -> tuple[int, ...]:
        """Rounds after which rows may be settled early."""
        return () if self.fixed else self.looks[:-1]

    @property
    def weights(self) -> tuple[float, ...]:
        """Share of the error probability for each look.

        A look that is added takes half of what the last one had. No share ever grows, so that who goes on until
        something stands out errs with less than twice the probability, however often the number is raised.
        """
        early = WEIGHTS[: len(self.looks) - len(self.raised) - 1]
        shares = [*early, 1.0 - sum(early)]
        for _ in self.raised:
            shares[-1:] = [shares[-1] / 2] * 2
        return tuple(shares)

    def more(self, rounds: int) -> Schedule:
        """The same with more rounds."""
        assert rounds > self.rounds
        return Schedule(looks=(*self.looks, rounds), raised=(*self.raised, self.rounds))

    def to_json(self) -> dict[str, Any]:
        """``{"fixed": 6}`` or ``{"looks": [4, 8, 16]}``; ``extended`` has the numbers that were raised."""
        data: dict[str, Any] = {"fixed": self.rounds} if self.fixed else {"looks": list(self.looks)}
        return {**data, "extended": list(self.raised)} if self.raised else data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Schedule:
        """Rebuild from `to_json`."""
        raised = tuple(int(look) for look in data.get("extended") or ())
        looks = (*raised, int(data["fixed"])) if "fixed" in data else tuple(int(look) for look in data["looks"])
        return cls(looks=looks, raised=raised)


@dataclass(frozen=True, kw_only=True, slots=True)
class RepeatLane:
    """One lane: a card (or a processor) and what is measured there, one operator after another.

    Args:
        card: what the visibility variable is set to; None without a device, or to leave what is visible as it is.
        index, uuid: the card as its tool knows it.
        core: the processor of a lane without a device.
    """

    lane: str
    card: str | None = None
    index: int | None = None
    uuid: str = ""
    core: int | None = None
    ops: tuple[Piece, ...] = ()

    @property
    def seconds(self) -> float:
        """What all rounds of it may take; 0 where nobody knows."""
        return sum(piece.seconds for piece in self.ops)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "lane": self.lane, "card": self.card, "index": self.index, "uuid": self.uuid or None, "core": self.core,
            "seconds": round(self.seconds, 3), "ops": [piece_data(piece) for piece in self.ops],
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RepeatLane:
        """Rebuild from `to_json`."""
        return cls(
            lane=str(data["lane"]), card=data["card"], index=data["index"], uuid=data["uuid"] or "", core=data["core"],
            ops=tuple(map(piece_of, data["ops"])),
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class RepeatPlan:
    """Everything that a root of repeated rounds is asked.

    Args:
        axis: as in a screen's plan.json, with the fingerprints of both builds.
        screen: the screen that operators and controls come from.
        settings: as `zlbench.settings.stored` writes them; the same questions are asked again from them.
        words: how its operators are asked for.
        cwd: where relative paths in them start.
        environment: variables of the caller that reach both sides.
        retries: times that an invalid pair is measured again.
    """

    metric: Metric
    schedule: Schedule
    lanes: tuple[RepeatLane, ...]
    axis: Mapping[str, Any]
    settings: Mapping[str, Any]
    words: tuple[str, ...] = ()
    screen: str | None = None
    cwd: str = ""
    environment: tuple[str, ...] = ()
    retries: int = 2
    notes: tuple[str, ...] = field(default=())

    def folder(self, root: Path, lane: RepeatLane) -> Path:
        """Where a lane writes: a level of its own only where there are several."""
        return root / lane.lane if len(self.lanes) > 1 else root

    @property
    def pieces(self) -> list[Piece]:
        """Everything that is measured, lane by lane."""
        return [piece for lane in self.lanes for piece in lane.ops]

    def named(self, kind: Kind) -> list[str]:
        """Directories of subjects or of controls, each once."""
        return list(dict.fromkeys(piece.directory for piece in self.pieces if piece.kind is kind))

    def with_more(self, rounds: int, settings: Mapping[str, Any]) -> RepeatPlan:
        """The same plan with more rounds, as if it had been asked for with these settings."""
        grown = rounds / self.schedule.rounds
        lanes = tuple(
            replace(lane, ops=tuple(replace(piece, seconds=piece.seconds * grown) for piece in lane.ops))
            for lane in self.lanes
        )
        return replace(self, schedule=self.schedule.more(rounds), lanes=lanes, settings=settings)

    def to_json(self) -> dict[str, Any]:
        """Plain data for repeat.json."""
        return {
            "schema_version": SCHEMA_VERSION,
            "metric": self.metric.value,
            "rounds": self.schedule.to_json(),
            "retries": self.retries,
            "axis": dict(self.axis),
            "screen": self.screen,
            "lanes": [lane.to_json() for lane in self.lanes],
            "notes": list(self.notes),
            "environment": list(self.environment),
            "words": list(self.words),
            "cwd": self.cwd,
            "settings": dict(self.settings),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RepeatPlan:
        """Rebuild from `to_json`."""
        return cls(
            metric=Metric(data["metric"]),
            schedule=Schedule.from_json(data["rounds"]),
            lanes=tuple(map(RepeatLane.from_json, data["lanes"])),
            axis=data["axis"],
            settings=data["settings"],
            screen=data["screen"],
            words=tuple(data["words"]),
            cwd=data["cwd"],
            environment=tuple(data["environment"]),
            retries=int(data["retries"]),
            notes=tuple(data["notes"]),
        )

    def write(self, root: Path) -> None:
        """Write it, whole."""
        store.write_json(root / PLAN, self.to_json())

    @classmethod
    def read(cls, root: Path) -> RepeatPlan:
        """Read it back.

        Raises:
            UsageError: there is none.
        """
        data = store.read_json(root / PLAN)
        if not isinstance(data, Mapping) or data.get("schema_version") != SCHEMA_VERSION:
            raise UsageError(
                f"{root} holds no repeated rounds to go on with", hint="Give a directory with repeat.json in it."
            )
        return cls.from_json(data)


def with_controls(lanes: Sequence[RepeatLane], controls: Sequence[Piece]) -> tuple[RepeatLane, ...]:
    """Put each control where the least is to be done, the longest first; those of equal length by name."""
    held: list[list[Piece]] = [list(lane.ops) for lane in lanes]
    for piece in sorted(controls, key=lambda piece: (-piece.seconds, piece.directory)):
        min(held, key=lambda pieces: sum(one.seconds for one in pieces)).append(piece)
    return tuple(
        RepeatLane(lane=lane.lane, card=lane.card, index=lane.index, uuid=lane.uuid, core=lane.core, ops=tuple(ops))
        for lane, ops in zip(lanes, held, strict=True)
    )
