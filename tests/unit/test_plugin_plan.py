"""Which plugins a cell loads, and in which order."""

from __future__ import annotations

import pytest

from zlbench.plugin_plan import plan


@pytest.mark.parametrize("timer", ["compile", "direct", "cuda_graph"])
def test_the_order_that_pytest_needs(timer: str) -> None:
    names = [name.removeprefix("zlbench_plugins.") for name in plan(timer)]
    # The device works at import; hooks run in reverse order, so that shapes are injected before rows take the loop.
    assert names[0] == "device"
    assert names.index("rows") < names.index("shapes")
    assert ("autotune_pin" in names) == (timer == "compile")
    assert ("autotune_sweep" in names) == (timer != "compile")
    assert len(names) == len(set(names))


def test_other_people_s_plugins_come_last_and_in_their_order() -> None:
    assert plan("compile", ("mine", "yours"))[-2:] == ("mine", "yours")
    assert plan("compile", ("mine",))[:-1] == plan("compile")
