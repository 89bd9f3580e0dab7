"""May two runs stand in one table? Every difference that is not the declared axis is named, then refused."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from zlbench import cards
from zlbench.caliber import COMPARED, column_text
from zlbench.errors import NotComparableError
from zlbench.identity import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from zlbench.axis import Axis
    from zlbench.identity import RunIdentity

# Facts of a build that tell one compiler from another; names and paths alone do not.
BUILD_FACTS = ("version", "native_sha256", "python_sha256", "tools_sha256", "env")

OF_ALL_OPERATORS = (
    "backend", "bench_level", "mode", "flagtree_aabs", "environment", "suite", "suite_commit", "suite_dirty",
    "suite_hash", "torch", "python", "driver",
)  # fmt: skip
"""Conditions of a campaign as a whole; shapes, and whether there is a graph, are each operator's own."""


class Severity(str, Enum):
    """Whether a complaint stops the report or only stands on top of it."""

    REFUSE = "refuse"
    WARN = "warning"


@dataclass(frozen=True, kw_only=True, slots=True)
class Complaint:
    """One reason why two runs answer different questions."""

    op: str
    field: str
    before: str
    after: str
    severity: Severity = Severity.REFUSE
    marker: str = ""
    note: str = ""
    times_only: bool = False
    """Whether it is no matter of what was compiled: a verdict on IR and code may stand, latencies may not."""

    def __str__(self) -> str:
        word = "warning " if self.severity is Severity.WARN else ""
        text = f"[caliber] {word}{self.op}: {self.field}: before={self.before} after={self.after}"
        extra = " ".join(part for part in (self.marker, self.note) if part)
        return f"{text}  {extra}" if extra else text


def complaints(
    before: RunIdentity | None, after: RunIdentity | None, axis: Axis | None, *, op: str = ""
) -> list[Complaint]:
    """Compare two identities field by field.

    Args:
        axis: what was declared to differ; None where nobody declared anything (two directories from
            anywhere): then builds and switches may differ, since they are what one compares.
        op: the operator, for a run whose identity is missing.
    """
    name = op or (before.op if before else "") or (after.op if after else "") or "?"
    if before is None or after is None:
        return [
            Complaint(
                op=name,
                field=FILE_NAME,
                before="missing" if before is None else "present",
                after="missing" if after is None else "present",
            )
        ]
    found = list(_identity_files(name, before, after))
    found += _conditions(name, before, after)
    found += _vendor(name, before, after)
    found += _builds(name, before, after, axis)
    found += _switches(name, before, after, axis)
    found += _tuning(name, before, after)
    found += _card(name, before, after)
    return found


def drift(
    first: RunIdentity, later: RunIdentity, *, op: str, fields: Iterable[str] = COMPARED, card: bool = True
) -> list[Complaint]:
    """Compare a side with itself: what it was in its first cell, and in a later one.

    What a key says that both lack is no matter of time: `complaints` asks for it.

    Args:
        fields: conditions that are compared; where there are none, builds and switches are not either.
        card: whether both ran in one lane, whose card is one.
    """
    names = tuple(fields)
    found = [one for one in _conditions(op, first, later, names) if one.before != one.after]
    if names:
        found += [*_facts(op, first, later), *_values(op, first, later)]
    return [*found, *(_card(op, first, later) if card else ())]


def refuse(found: Iterable[Complaint], *, allow: bool = False) -> tuple[str, ...]:
    """Raise if the complaints forbid a comparison; else return the lines to print on top of the report.

    Raises:
        NotComparableError: exit 4.
    """
    listed = list(found)
    lines = tuple(str(complaint) for complaint in listed)
    fatal = [complaint for complaint in listed if complaint.severity is Severity.REFUSE]
    if not fatal or allow:
        return lines
    markers = [complaint.marker for complaint in fatal if complaint.marker]
    raise NotComparableError(
        "\n".join(lines),
        hint="Not compared: these two runs answer different questions. "
        "If you know why they agree: --allow-caliber-mismatch.",
        marker=markers[0] if markers else "",
    )


def _identity_files(name: str, before: RunIdentity, after: RunIdentity) -> Iterator[Complaint]:
    if before.op != after.op:
        yield Complaint(op=name, field="op", before=before.op, after=after.op)
    if before.schema_version != after.schema_version:
        yield Complaint(
            op=name,
            field="schema_version",
            before=str(before.schema_version),
            after=str(after.schema_version),
        )


def _conditions(
    name: str, before: RunIdentity, after: RunIdentity, fields: Iterable[str] = COMPARED
) -> Iterator[Complaint]:
    for condition in fields:
        left, right = (
            "missing" if condition in identity.missing else column_text(getattr(identity.caliber, condition))
            for identity in (before, after)
        )
        # Two files that both lack a key prove nothing either way, so that is a complaint as well.
        if left != right or left == "missing":
            yield Complaint(op=name, field=condition, before=left, after=right)


def _vendor(name: str, before: RunIdentity, after: RunIdentity) -> Iterator[Complaint]:
    """Whose implementation the suite chose; a process that was killed did not say."""
    if None not in (before.vendor, after.vendor) and before.vendor != after.vendor:
        yield Complaint(op=name, field="vendor", before=column_text(before.vendor), after=column_text(after.vendor))


def _builds(name: str, before: RunIdentity, after: RunIdentity, axis: Axis | None) -> Iterator[Complaint]:
    """A build that differs although the axis is a switch alone, or a null test."""
    if axis is None or (axis.differs_in_build and not axis.null_test):
        return
    yield from _facts(name, before, after)


def _facts(name: str, before: RunIdentity, after: RunIdentity) -> Iterator[Complaint]:
    for fact in BUILD_FACTS:
        left, right = (column_text(identity.build.get(fact)) for identity in (before, after))
        if left != right:
            yield Complaint(op=name, field=f"build.{fact}", before=left, after=right)


def _switches(name: str, before: RunIdentity, after: RunIdentity, axis: Axis | None) -> Iterator[Complaint]:
    if axis is not None:
        yield from _values(name, before, after, declared={switch.name for switch in axis.switches})


def _values(
    name: str, before: RunIdentity, after: RunIdentity, *, declared: Collection[str] = ()
) -> Iterator[Complaint]:
    """Switches whose values differ, less those that are declared to."""
    for switch in sorted({*before.switches, *after.switches} - {*declared}):
        left, right = (column_text(identity.switches.get(switch)) for identity in (before, after))
        if left != right:
            yield Complaint(op=name, field=f"switch {switch}", before=left, after=right)


def _tuning(name: str, before: RunIdentity, after: RunIdentity) -> Iterator[Complaint]:
    given = [identity.caliber.autotune_mode for identity in (before, after)]
    modes = [None if mode is None else column_text(mode) for mode in given]
    if modes == ["record", "record"] and before.tuner_choices == 0 == after.tuner_choices:
        return  # nothing was chosen on either side
    if None not in modes and set(modes) <= {"record", "off"}:
        yield Complaint(
            op=name, field="autotune_mode", before=column_text(modes[0]), after=column_text(modes[1]),
            marker="RECORD_VS_RECORD", note="each side chose its own configs",
        )  # fmt: skip
    elif None not in modes and modes != ["record", "replay"] and modes[0] != modes[1]:
        yield Complaint(op=name, field="autotune_mode", before=column_text(modes[0]), after=column_text(modes[1]))
    elif modes[1] == "replay" and before.caliber.autotune_source != after.caliber.autotune_source:
        yield Complaint(
            op=name,
            field="autotune_source",
            before=column_text(before.caliber.autotune_source),
            after=column_text(after.caliber.autotune_source),
        )
    recorded = [one for one in (before, after) if one.caliber.autotune_mode == "record"]
    foreign = [writer for one in recorded for writer in one.tuner_foreign]
    if foreign or any(one.caliber.tuner_cache == "shared" for one in recorded):
        # Winners of the side's own compiler are only old; those of another were chosen for other code.
        said = f"winners chosen by {' and '.join(dict.fromkeys(foreign))} were taken over" if foreign else ""
        yield Complaint(
            op=name, field="tuner_cache", marker="TUNER_CACHE_SHARED",
            severity=Severity.REFUSE if foreign else Severity.WARN,
            before=column_text(before.caliber.tuner_cache),
            after=column_text(after.caliber.tuner_cache),
            note=said or "the configs depend on what ran on this machine before",
        )  # fmt: skip


def _card(name: str, before: RunIdentity, after: RunIdentity) -> Iterator[Complaint]:
    """Another card of the same name, or the same with other clocks: its times are no answer to the same question.

    Where it is known of one side alone, nothing says that it differs.
    """
    uuids = [identity.device_uuid for identity in (before, after)]
    known = [str(uuid) for uuid in uuids if uuid]
    if len(known) == 2 and not cards.same_uuid(*known):
        yield Complaint(op=name, field="device_uuid", before=known[0], after=known[1], times_only=True)
    for setting in sorted(before.card_settings.keys() & after.card_settings.keys()):
        left, right = (column_text(identity.card_settings[setting]) for identity in (before, after))
        if left != right:
            yield Complaint(op=name, field=f"card {setting}", before=left, after=right, times_only=True)
    if len(known) == 1 or bool(before.card_settings) != bool(after.card_settings):
        left, right = (_known_of_card(identity) for identity in (before, after))
        yield Complaint(op=name, field="card", severity=Severity.WARN, before=left, after=right, times_only=True)


def _known_of_card(identity: RunIdentity) -> str:
    return f"{identity.device_uuid or 'unknown'} with {'known' if identity.card_settings else 'unknown'} clocks"
