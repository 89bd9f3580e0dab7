"""Switches and sides, and the search for a switch's name in compiler and suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.axis import Switch, make_axis, parse_switch, parse_switches
from zlbench.errors import PreflightError, UsageError
from zlbench.switchscan import find_switch, known_switches, require_known

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "a", "b"),
    [
        ("DISABLE_MMA_V3", "0", "1"),
        ("DISABLE_MMA_V3=1", None, "1"),
        ("DISABLE_MMA_V3=0", None, "0"),
        ("TRITON_F32_DEFAULT=ieee,tf32", "ieee", "tf32"),
        ("X=unset,1", None, "1"),
        ("X=1,unset", "1", None),
        ("X=,1", "", "1"),
        ("X=", None, ""),
        ("X=a=b,c d", "a=b", "c d"),
    ],
)
def test_switch_grammar(text: str, a: str | None, b: str | None) -> None:
    switch = parse_switch(text)
    assert (switch.a, switch.b) == (a, b)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "=1",
        "A-B",
        "1A",
        "A B",
        "A=1,2,3",
        "A=1,1",
        "A=unset,unset",
        "A=unset",
        "A=1\n2",
        "A=\x00",
        "PATH=x",
        "TRITON_CACHE_DIR=/x",
        "ü",
    ],
)
def test_a_switch_that_cannot_be_meant_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_switch(text)


@given(st.text(max_size=40))
def test_any_text_is_a_switch_with_two_values_or_refused(text: str) -> None:
    try:
        switch = parse_switch(text)
    except UsageError:
        return
    assert switch.name.isidentifier()
    assert switch.a != switch.b


def test_a_switch_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="given twice"):
        parse_switches(["A=1", "B", "A=2"])


def test_unset_is_not_zero() -> None:
    axis = make_axis(name="x", a="t", b="t", switches=parse_switches(["X=unset,0"]))
    shell = {"X": "7", "HOME": "/h"}
    assert axis.a.environment(shell) == {"HOME": "/h"}
    assert axis.b.environment(shell) == {"HOME": "/h", "X": "0"}
    assert axis.switches == (Switch(name="X", a=None, b="0"),)
    assert str(axis.switches[0]) == "X unset → 0"


@pytest.mark.parametrize(
    ("a", "b", "switches", "null_test", "said"),
    [
        ("x", "y", [], False, "build"),
        ("x", "x", ["S"], False, "switch S"),
        ("x", "y", ["S", "T=1"], False, "build and switch S and switch T"),
        ("x", "x", [], True, "null test"),
        ("x", "x", [], False, "nothing"),
    ],
)
def test_an_axis_says_what_differs(a: str, b: str, switches: list[str], null_test: bool, said: str) -> None:
    axis = make_axis(name="n", a=a, b=b, switches=parse_switches(switches), null_test=null_test)
    assert axis.describe == said


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    compiler, suite = tmp_path / "triton", tmp_path / "suite"
    (compiler / "_C").mkdir(parents=True)
    (compiler / "knobs.py").write_text('x = env_bool("TRITON_DEFAULT_FP_FUSION")\n', encoding="utf-8")
    (compiler / "_C" / "libtriton.so").write_bytes(
        b"\x7fELF\x00\x01XDISABLE_MMA_V3X\x00" + b"\x00" * 5000 + b"\x00DISABLE_MMA_V3\x00DISABLE_LLVM_OPT\x00"
    )
    (compiler / "empty.so").touch()
    (suite / "src").mkdir(parents=True)
    (suite / "src" / "ops.py").write_text("if os.getenv('FLAGGEMS_FOLD'): pass\n", encoding="utf-8")
    (suite / "README.md").write_text("ONLY_IN_DOCS", encoding="utf-8")
    return [compiler, suite]


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("TRITON_DEFAULT_FP_FUSION", "knobs.py"),
        ("DISABLE_MMA_V3", "libtriton.so"),
        ("DISABLE_LLVM_OPT", "libtriton.so"),
        ("FLAGGEMS_FOLD", "ops.py"),
        ("DISABLE_MMA_V33", None),
        ("DISABLE_MMA", None),
        ("MMA_V3", None),
        ("ONLY_IN_DOCS", None),
    ],
)
def test_a_switch_is_found_as_a_whole_word(roots: list[Path], name: str, file: str | None) -> None:
    found = find_switch(name, roots)
    assert (found.name if found else None) == file


def test_a_misspelt_switch_fails_preflight_and_the_nearest_is_named(roots: list[Path]) -> None:
    with pytest.raises(PreflightError) as caught:
        require_known(parse_switches(["DISABLE_LLVM_OPT", "DISABLE_MMA_V33"]), roots, where="triton 3.6.0")
    assert caught.value.check == "switch-known"
    assert "DISABLE_MMA_V33 occurs nowhere in triton 3.6.0. Nearest: DISABLE_MMA_V3" in caught.value.message
    assert known_switches(roots) >= {"DISABLE_MMA_V3", "TRITON_DEFAULT_FP_FUSION", "FLAGGEMS_FOLD"}
    require_known(parse_switches(["DISABLE_MMA_V3"]), roots, where="x")


def test_a_root_that_is_gone_holds_nothing(tmp_path: Path) -> None:
    assert find_switch("X_Y_Z", [tmp_path / "gone"]) is None


def test_a_name_that_could_be_any_word_must_stand_in_quotes(tmp_path: Path) -> None:
    source = tmp_path / "knobs.py"
    source.write_text("# A word here, and DISABLE_THAT.\nvalue = os.environ.get('fold')\n")
    assert find_switch("A", [tmp_path]) is None
    assert find_switch("fold", [tmp_path]) == source
    assert find_switch("DISABLE_THAT", [tmp_path]) == source
