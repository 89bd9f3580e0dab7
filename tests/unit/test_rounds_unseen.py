"""What is said of pairs that the sampler did not see."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from zlbench.partition_plan import Kind
from zlbench.rounds.names import Metric
from zlbench.rounds.plan import RepeatLane, RepeatPlan, Schedule
from zlbench.rounds.records import End
from zlbench.rounds.unseen import can_be_seen, unseen_line


def end(unseen: int, rounds: int = 6) -> End:
    return End(
        directory="x", kind=Kind.SUBJECT, shard=1, rounds=rounds, wanted=rounds, invalid=0, dead=False,
        not_comparable="", settled=0, failed={}, unseen=unseen,
    )  # fmt: skip


@pytest.mark.parametrize(("interval", "proposed"), [(5.0, "1"), (100.0, "1"), (1.0, "0.2"), (0.5, "0.1")])
def test_a_shorter_interval_is_proposed(interval: float, proposed: str) -> None:
    line = unseen_line([end(2), end(3)], interval_s=interval)
    assert line.startswith(
        f"in 5 of 12 pairs neither side was seen at work: cells are shorter than the sampler's {interval:g} s"
    )
    assert line.endswith(f"(next time: --telemetry-interval {proposed})")


def test_nothing_is_said_where_all_was_seen_or_the_sampler_is_off() -> None:
    assert unseen_line([end(0)], interval_s=5.0) == ""
    assert unseen_line([end(6)], interval_s=0.0) == ""


def test_a_tool_that_told_nothing_is_no_question_of_the_interval(tmp_path: Path) -> None:
    plan = RepeatPlan(
        metric=Metric.LATENCY, schedule=Schedule(looks=(6,)), lanes=(RepeatLane(lane="0"),), axis={}, settings={}
    )
    path = tmp_path / "telemetry.tsv"
    assert not can_be_seen(plan, tmp_path)
    path.write_text("timestamp\tindex\n")
    assert not can_be_seen(plan, tmp_path)
    path.write_text("timestamp\tindex\n2026\t0\n")
    assert can_be_seen(plan, tmp_path)
    assert not can_be_seen(replace(plan, metric=Metric.COMPILE), tmp_path)
