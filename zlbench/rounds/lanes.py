"""From ``--devices`` and ``--lanes`` to lanes: a card each, or without a device a processor each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from zlbench import cards
from zlbench.backend import Backend
from zlbench.errors import UsageError
from zlbench.measure.request import Request
from zlbench.partition import make_plan
from zlbench.partition_plan import Lane, Piece, Work
from zlbench.processors import lane_cores
from zlbench.rounds.plan import RepeatLane, with_controls
from zlbench.settings import Resolved
from zlbench.smi import CardFacts


def empty_lanes(
    request: Request, env: Mapping[str, str], *, planned: Sequence[Lane], known: Sequence[CardFacts]
) -> tuple[RepeatLane, ...]:
    """The lanes that were asked for, with nothing to do yet.

    Args:
        planned: lanes of a partition.json, which have been asked for before; empty without one.
        known: cards that the family's tool names.

    Raises:
        UsageError: a card that is not there or named twice, more lanes than processors, two answers to one question.
    """
    backend, resolved = request.backend, request.resolved
    if backend.deviceless:
        names = [lane.card for lane in planned] or [str(number) for number in range(_count(resolved))]
        if len(names) == 1:
            return (RepeatLane(lane=names[0]),)
        cores = lane_cores(len(names))
        return tuple(RepeatLane(lane=name, core=core) for name, core in zip(names, cores, strict=True))
    named = tuple(lane.card for lane in planned) or _devices(resolved)
    if not named:
        return (_one_card(request, known),)
    if not known:
        # Its tool is silent: the words are taken for what the family's variable understands.
        return tuple(RepeatLane(lane=word, card=word, index=int(word) if word.isdecimal() else None) for word in named)
    variable = cards.visibility_variable(backend, env)
    visible = tuple(word for word in env[variable].split(",") if word.strip()) if variable in env else None
    found = cards.parse_devices(named, known, visible=visible)
    return tuple(
        RepeatLane(lane=str(card.index), card=_visible_as(backend, card), index=card.index, uuid=card.uuid or "")
        for card in found
    )


def _visible_as(backend: Backend, card: CardFacts) -> str:
    return card.uuid if backend.visible_by_uuid and card.uuid else str(card.index)


def _one_card(request: Request, known: Sequence[CardFacts]) -> RepeatLane:
    """The first card that is visible, left as visible as it is."""
    names = ("0",) if request.devices is None else request.devices[:1]
    card = next(iter(cards.in_order(known, names)), None)
    if card is None:
        return RepeatLane(lane=names[0] if names and names[0].isdecimal() else "0")
    return RepeatLane(lane=str(card.index), index=card.index, uuid=card.uuid or "")


def _devices(resolved: Resolved) -> tuple[str, ...]:
    devices, gpus = resolved.texts("devices"), resolved.texts("gpus")
    if gpus and devices:
        raise UsageError("--devices and --gpus are both given, and mean the same", hint="Drop one of them.")
    chosen = devices or gpus
    if chosen and resolved.value("device"):
        raise UsageError("--devices and --device are both given", hint="Drop --device; one card: --devices 0")
    if resolved.value("lanes") is not None and resolved.value("lanes") != len(chosen or ("",)) and chosen != ("all",):
        raise UsageError("a lane is a card here, and --lanes names another number", hint="Name cards: --devices 0,1")
    return chosen


def _count(resolved: Resolved) -> int:
    """Lanes without a device; names of lanes count as that many."""
    named, count = resolved.texts("devices") or resolved.texts("gpus"), resolved.value("lanes")
    return int(count) if count is not None else len(named) or 1


def fill_lanes(
    lanes: Sequence[RepeatLane], work: Sequence[Work], controls: Sequence[Piece], *, planned: Sequence[Lane],
    rounds: int, split: bool,
) -> tuple[RepeatLane, ...]:  # fmt: skip
    """Give every lane its part.

    Args:
        work: what is spread; not used where a partition has done so.
        split: whether operators may be cut by rows.
    """
    if planned:
        scaled = [lane.pieces for lane in planned]
    else:
        plan = make_plan(work, cards=[lane.lane for lane in lanes], rounds=rounds, split=split and len(lanes) > 1)
        scaled = [lane.pieces for lane in plan.lanes] if plan.timed else [_untimed(lane) for lane in plan.lanes]
    filled = [replace(lane, ops=pieces) for lane, pieces in zip(lanes, scaled, strict=True)]
    return tuple(lane for lane in with_controls(filled, controls) if lane.ops) or tuple(filled)


def _untimed(lane: Lane) -> tuple[Piece, ...]:
    """Weights are no seconds."""
    return tuple(replace(piece, seconds=0.0) for piece in lane.pieces)


def on_lane(request: Request, lane: RepeatLane) -> Request:
    """The request as one lane asks it: with its card alone."""
    return request if lane.card is None else replace(request, devices=(lane.card,))
