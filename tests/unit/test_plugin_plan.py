"""Which plugins a cell loads, and in which order."""

from __future__ import annotations

import pytest

from zlbench.plugin_plan import plan


@pytest.mark.parametrize(
    ("autotune", "plugin"),
    [("policy", "autotune_pin"), ("record", "autotune_record"), ("replay", "autotune_replay"), ("off", None)],
)
def test_the_order_that_pytest_needs(autotune: str, plugin: str | None) -> None:
    names = [name.removeprefix("zlbench_plugins.") for name in plan(autotune=autotune)]
    # The device works at import; hooks run in reverse order, so that shapes are injected before rows take the loop.
    assert names[0] == "device"
    assert names.index("rows") < names.index("shapes")
    assert [name for name in names if name in ("autotune_pin", "autotune_record", "autotune_replay")] == (
        [plugin] if plugin else []
    )
    assert ("autotune_sweep" in names) == (autotune != "policy")
    assert len(names) == len(set(names))


def test_other_people_s_plugins_come_last_and_in_their_order() -> None:
    assert plan(autotune="policy", extra=("mine", "yours"))[-2:] == ("mine", "yours")
    assert plan(autotune="policy", extra=("mine",))[:-1] == plan(autotune="policy")


def test_ir_can_be_left_out_and_compatibility_plugins_come_before_other_people_s() -> None:
    names = plan(autotune="record", ir=False, compat=("mm_cluster",), extra=("mine",))
    assert "zlbench_plugins.ir_meta" not in names
    assert names[-2:] == ("zlbench_plugins.mm_cluster", "mine")
