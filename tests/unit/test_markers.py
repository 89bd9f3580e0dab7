"""Every word in capitals has a text, and no text is about a word that nobody knows."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from zlbench.cells import CellState
from zlbench.errors import ExitCode, UsageError
from zlbench.judge import Verdict
from zlbench.markers import MARKERS, Kind, explain, find, overview

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("IR_CHANGED", "IR_CHANGED"),
        ("ir_changed", "IR_CHANGED"),
        ("TIMER_MISMATCH:", "TIMER_MISMATCH"),
        ("switch-known", "switch-known"),
        ("check=switch-known", "switch-known"),
        ("interpreter-imports", "interpreter-imports"),
        ("4", "4 not comparable"),
        ("not-comparable", "NOT_COMPARABLE"),
        ("not comparable", "4 not comparable"),
        ("op failed", "1 op failed"),
        ("partial", "6 partial"),
        ("ir", "IR"),
        *((word, word) for word in ("axis", "level", "configs", "libtriton", "quick", "kernels", "code", "caliber")),
        *((word, word) for word in ("timer", "direct")),
        ("comparable", None),
        ("AUTOTUNE_REPLAY_FALLBACK_no_evict", "AUTOTUNE_REPLAY_FALLBACK"),
    ],
)
def test_words_are_found_as_they_are_pasted(word: str, found: str | None) -> None:
    if found is None:
        with pytest.raises(UsageError):
            find(word)
    else:
        assert find(word).word == found


def test_an_unknown_word_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="Nearest: IR_CHANGED"):
        find("IR_CHANGD")


def test_a_text_has_cause_meaning_and_next_step() -> None:
    for word, marker in MARKERS.items():
        text = explain(word)
        assert text.startswith(word)
        assert [line.split()[0] for line in text.splitlines()[1:]] == ["cause", "meaning", "next"]
        assert all((marker.cause, marker.meaning, marker.next_step))
        assert word in overview()


def test_every_exit_code_is_explained() -> None:
    for code in ExitCode:
        assert find(str(code.value)).kind is Kind.EXIT


@cache
def constants_of(path: Path) -> dict[str, str]:
    """Return the strings that a module gives names to, its own and those it imports from one of our modules."""
    found: dict[str, str] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            source = ROOT.joinpath(*node.module.split(".")).with_suffix(".py")
            theirs = constants_of(source) if source.is_file() else {}
            found |= {name.asname or name.name: theirs[name.name] for name in node.names if name.name in theirs}
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            found |= dict.fromkeys(names, node.value.value) if isinstance(node.value.value, str) else {}
    return found


def said_in(path: Path) -> set[str]:
    """Return the values of `marker=` and `check=` arguments, written out or as the name of a constant."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants = constants_of(path)
    given = [
        keyword.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg in ("marker", "check")
    ]
    words = {value.value for value in given if isinstance(value, ast.Constant) and isinstance(value.value, str)}
    named = {constants.get(value.id, "") for value in given if isinstance(value, ast.Name)}
    return (words | named) - {""}


def test_constants_are_words_that_the_code_says() -> None:
    builds = ROOT / "zlbench" / "builds"
    assert {"interpreter-imports", "build-native"} <= said_in(builds / "survey.py")
    assert "build-install" in said_in(builds / "environment.py")  # imported


def warned_in(path: Path) -> set[str]:
    """Return the literal first arguments of `….warn("WORD", …)`."""
    return {
        node.args[0].value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "warn"
        if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)
    }


def test_every_state_verdict_and_warning_is_explained() -> None:
    said = {member.value for members in (CellState, Verdict) for member in members}
    said |= {word for path in (ROOT / "plugins").rglob("*.py") for word in warned_in(path)}
    assert said - set(MARKERS) == set()


def test_every_marker_and_check_that_the_code_raises_is_explained() -> None:
    files = [
        path for folder in ("zlbench", "plugins", "backends", "sessions") for path in (ROOT / folder).rglob("*.py")
    ]
    said = {word: path for path in files for word in said_in(path)}
    assert {word: path for word, path in said.items() if word not in MARKERS} == {}
