"""Reading what people write for a build."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.compilers import make_toy_compiler, make_toy_wheel
from hypothesis import given
from hypothesis import strategies as st

from zlbench.builds.spec import Build, BuildKind, parse_build
from zlbench.errors import ExitCode, PreflightError, UsageError, ZlbenchError

KNOWN = {"old": Build(name="old", kind=BuildKind.WHEEL, requirement="triton==3.6.0")}


@pytest.mark.parametrize(
    ("text", "requirement"),
    [
        ("3.7.1", "triton==3.7.1"),
        ("3.8.0.dev20260101", "triton==3.8.0.dev20260101"),
        ("3.6.0+git1a2b3c4d", "triton==3.6.0+git1a2b3c4d"),
        ("triton==3.7.1", "triton==3.7.1"),
        ("fbtriton==3.5.0", "fbtriton==3.5.0"),
        ("pytorch-triton-rocm>=3.4", "pytorch-triton-rocm>=3.4"),
        (
            "triton @ https://example.org/t-1-py3-none-any.whl",
            "triton @ https://example.org/t-1-py3-none-any.whl",
        ),
        ("https://example.org/t-1-py3-none-any.whl", "https://example.org/t-1-py3-none-any.whl"),
    ],
)
def test_what_pip_installs(text: str, requirement: str, tmp_path: Path) -> None:
    build = parse_build(text, KNOWN, cwd=tmp_path)
    assert (build.kind, build.requirement) == (BuildKind.WHEEL, requirement)
    assert build.wheel_file is None


def test_a_known_name_wins(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    assert parse_build("old", KNOWN, cwd=tmp_path) is KNOWN["old"]


def test_a_wheel_file_is_named_after_its_version(tmp_path: Path) -> None:
    wheel = make_toy_wheel(tmp_path, version="3.6.0")
    build = parse_build(wheel.name, KNOWN, cwd=tmp_path)
    assert build.wheel_file == wheel
    assert build.name == "triton-3.6.0"


def test_a_tree_may_be_the_checkout_or_the_folder_on_the_path(tmp_path: Path) -> None:
    make_toy_compiler(tmp_path / "checkout" / "python")
    make_toy_compiler(tmp_path / "flat")
    for text, root in (("checkout", "checkout/python"), ("./flat/", "flat")):
        build = parse_build(text, KNOWN, cwd=tmp_path)
        assert (build.kind, build.tree) == (BuildKind.TREE, tmp_path / root)


def test_an_interpreter_keeps_its_link(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_text("#!/bin/sh\n")
    real.chmod(0o755)
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "python").symlink_to(real)
    build = parse_build("venv/bin/python", KNOWN, cwd=tmp_path)
    assert (build.kind, build.python) == (BuildKind.INTERPRETER, tmp_path / "venv" / "bin" / "python")
    assert build.name == "venv"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("odl", r"no build named odl\. Nearest: old"),
        ("triton", "triton"),
        ("", "no build named"),
        ("./gone", "no such file"),
        ("gone/bin/python", "gone/bin/python"),
        ("empty", "empty: this directory holds no triton package"),
        ("plain.txt", "plain.txt"),
        ("~nobody-zl/x", "nobody-zl"),
    ],
)
def test_what_cannot_be_a_build_is_named(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "plain.txt").write_text("")
    with pytest.raises(UsageError, match=said) as caught:
        parse_build(text, KNOWN, cwd=tmp_path)
    assert caught.value.hint


def test_a_missing_wheel_ends_as_one_that_the_project_file_names(tmp_path: Path) -> None:
    with pytest.raises(PreflightError, match=r"triton-9\.whl: this wheel does not exist") as caught:
        parse_build("sub/triton-9.whl", KNOWN, cwd=tmp_path)
    assert (caught.value.check, caught.value.code) == ("build-source", ExitCode.PREFLIGHT)


def test_near_misses_get_the_right_path_as_a_hint(tmp_path: Path) -> None:
    wheel = make_toy_wheel(tmp_path)
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "python").touch()
    make_toy_compiler(tmp_path / "tree")
    for text, hint in (
        ("triton-3.6.1-py3-none-any.whl", wheel.name),
        ("venv", "venv/bin/python"),
        ("tree/triton", str(tmp_path / "tree")),
    ):
        with pytest.raises(ZlbenchError) as caught:
            parse_build(text, KNOWN, cwd=tmp_path)
        assert hint in caught.value.hint


@given(st.text(max_size=200))
def test_no_text_gives_a_name_that_leaves_its_directory(text: str) -> None:
    try:
        build = parse_build(text, {}, cwd=Path("/nonexistent-zl"))
    except (UsageError, PreflightError):
        return
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", build.name)


@pytest.mark.parametrize("name", ["", "..", "a/b", "-x", "a b", "x" * 81, "a\n"])
def test_a_name_that_could_escape_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        replace(KNOWN["old"], name=name)


@pytest.mark.parametrize("kind", list(BuildKind))
def test_a_build_says_where_it_is(kind: BuildKind) -> None:
    with pytest.raises(UsageError, match="where"):
        Build(name="x", kind=kind)


def test_the_digest_is_about_what_is_installed() -> None:
    old = KNOWN["old"]
    assert replace(old, name="other", env={"X": "1"}).digest() == old.digest()
    for change in (
        {"requirement": "triton==3.7.1"},
        {"torch": "torch==2.9.0"},
        {"packages": ("scipy",)},
        {"python": Path("/p")},
    ):
        assert replace(old, **change).digest() != old.digest()
