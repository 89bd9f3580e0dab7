"""Several targets in one screen, and targets that do not exist."""

from __future__ import annotations

import time

import pytest
from driving import Zlbench, read_json

pytestmark = pytest.mark.triton


def test_one_operator_on_three_targets_is_three_lines(zl: Zlbench) -> None:
    words = ("--target", "cuda:80,cuda:90,hip:gfx942", "--quick", "--dtypes", "float16")
    done = zl.fine("screen", "softmax", *words)
    table = done.table()
    assert "1 operator on 3 targets, 3 lines" in done.out
    assert [row["device"] for row in table.values()] == ["cuda:80", "cuda:90", "hip:gfx942"]
    for row in table.values():
        assert row["verdict"] in ("IR_CHANGED", "NO_IR_DIFF")
        assert row["machine_code"] in ("same", "changed")
        assert int(row["registers_before"]) > 0
        assert int(row["registers_after"]) > 0
        assert int(row["instructions_before"]) > 0
    amd = next(row for row in table.values() if row["device"] == "hip:gfx942")
    costs = read_json(done.root / amd["directory"] / "A" / "costs.json")
    # AMD's instructions are told by its own assembly; nothing of nvdisasm's words may occur.
    assert any(name.startswith(("v_", "s_", "global_")) for cost in costs.values() for name in cost["mix"]), costs
    for row in table.values():
        assert read_json(done.root / row["directory"] / "B" / "run_identity.json")["device"] == row["device"]


def test_a_misspelt_target_names_the_nearest(zl: Zlbench) -> None:
    done = zl("screen", "softmax", "--target", "cuda:09")
    assert done.code == 2
    assert "cuda:09" in done.err
    assert "cuda:90" in done.err
    assert done.err.count("zlbench:") == 1
    assert "Traceback" not in done.text


def test_a_misspelt_operator_is_answered_at_once(zl: Zlbench) -> None:
    """The limit of three seconds is the issue's; a loaded machine gets a few tries."""
    took = []
    for _ in range(3):
        started = time.monotonic()
        done = zl("screen", "tpok")
        took.append(time.monotonic() - started)
        assert done.code == 2
        assert "topk" in done.err
        if took[-1] < 3:
            return
    pytest.fail(f"took {took} s")
