"""P1 SAME-BUILD: the compiler that a side really imports is the one asked for, or nothing is measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fakes.compilers import caller_env, imported_by, make_toy_compiler, make_toy_wheel

from zlbench.builds.check import check_imported, refuse_same
from zlbench.builds.environment import ensure
from zlbench.builds.spec import Build, BuildKind
from zlbench.errors import BuildMismatchError, ExitCode, PreflightError

if TYPE_CHECKING:
    from zlbench.builds.manifest import Manifest

X_BYTES = b"compiler X"
Y_BYTES = b"compiler Y"


def build_x(tmp_path: Path, name: str = "a") -> Build:
    wheel = make_toy_wheel(tmp_path / "x", native=X_BYTES)
    return Build(name=name, kind=BuildKind.WHEEL, requirement=str(wheel), torch="")


def build_y(tmp_path: Path, name: str = "b") -> Build:
    return Build(name=name, kind=BuildKind.TREE, tree=make_toy_compiler(tmp_path / "y", native=Y_BYTES), torch="")


def made(build: Build, tmp_path: Path, *, install: bool = True) -> Manifest:
    return ensure(build, home=tmp_path / "home", env=caller_env(), log=lambda _: None, install=install, side="B")


def test_a_leaking_pythonpath_is_caught(tmp_path: Path) -> None:
    a, b = made(build_x(tmp_path), tmp_path), made(build_y(tmp_path), tmp_path)
    leak = a.pythonpath[0]
    seen = imported_by(b, caller_env(PYTHONPATH=leak), tmp_path)
    with pytest.raises(BuildMismatchError) as caught:
        check_imported("B", b, seen)
    error = caught.value
    assert (error.code, error.marker, error.side) == (ExitCode.PREFLIGHT, "BUILD_MISMATCH", "B")
    assert f"side=B wanted={b.triton_path} 3.6.0 {b.native_sha256[:8]}" in error.message
    assert f"got={a.triton_path} 3.6.0 {a.native_sha256[:8]}" in error.message
    assert leak in error.hint


def test_without_the_leak_both_sides_are_what_they_should_be_and_differ(tmp_path: Path) -> None:
    a, b = made(build_x(tmp_path), tmp_path), made(build_y(tmp_path), tmp_path)
    for side, manifest in (("A", a), ("B", b)):
        check_imported(side, manifest, imported_by(manifest, caller_env(), tmp_path))
    assert a.triton_version == b.triton_version == "3.6.0"
    assert a.identity != b.identity
    refuse_same(a, {}, b, {}, null_test=False)


def test_a_leak_of_the_same_content_from_another_place_is_caught_too(tmp_path: Path) -> None:
    b = made(build_y(tmp_path), tmp_path)
    twin = make_toy_compiler(tmp_path / "twin", native=Y_BYTES)
    with pytest.raises(BuildMismatchError, match="twin"):
        check_imported("B", b, imported_by(b, caller_env(PYTHONPATH=str(twin)), tmp_path))


def test_an_environment_that_holds_another_compiler_by_now_is_not_reused(tmp_path: Path) -> None:
    wheel = make_toy_wheel(tmp_path / "y", native=Y_BYTES)
    build = Build(name="b", kind=BuildKind.WHEEL, requirement=str(wheel), torch="")
    b = made(build, tmp_path)
    Path(b.native_path).write_bytes(X_BYTES)
    seen = imported_by(b, caller_env(), tmp_path)
    for check in (lambda: check_imported("B", b, seen), lambda: made(build, tmp_path)):
        with pytest.raises(BuildMismatchError) as caught:
            check()
        assert caught.value.side == "B"
        assert "_C/libtriton.so" in caught.value.hint
        assert "nox -s build -- --rebuild b" in caught.value.hint


def test_an_environment_made_from_another_spec_is_not_taken_when_nothing_may_be_installed(
    tmp_path: Path,
) -> None:
    old = made(build_x(tmp_path, "b"), tmp_path)
    wanted = Build(
        name="b",
        kind=BuildKind.WHEEL,
        requirement=str(make_toy_wheel(tmp_path / "y", native=Y_BYTES)),
        torch="",
    )
    with pytest.raises(BuildMismatchError) as caught:
        made(wanted, tmp_path, install=False)
    assert f"got={old.triton_path} 3.6.0 {old.native_sha256[:8]}" in caught.value.message
    assert str(wanted.requirement) in caught.value.message
    assert made(wanted, tmp_path).native_sha256 != old.native_sha256


def test_two_names_for_one_compiler_are_refused_unless_that_is_the_test(tmp_path: Path) -> None:
    a, b = made(build_x(tmp_path, "a"), tmp_path), made(build_x(tmp_path, "again"), tmp_path)
    assert a.triton_path != b.triton_path
    with pytest.raises(PreflightError) as caught:
        refuse_same(a, {}, b, {}, null_test=False)
    assert caught.value.marker == "SAME_BUILD"
    assert caught.value.code is ExitCode.PREFLIGHT
    assert "--null-test" in caught.value.hint
    refuse_same(a, {}, b, {}, null_test=True)


@pytest.mark.parametrize(
    ("a_switches", "b_switches", "same"),
    [
        ({}, {"S": None}, True),
        ({"S": "1"}, {"S": "1"}, True),
        ({"S": None}, {"S": "0"}, False),
        ({"S": "0"}, {"S": "1"}, False),
    ],
)
def test_switches_make_sides_differ_and_unset_is_not_zero(
    tmp_path: Path, a_switches: dict[str, str | None], b_switches: dict[str, str | None], same: bool
) -> None:
    build = made(build_y(tmp_path), tmp_path)
    if not same:
        refuse_same(build, a_switches, build, b_switches, null_test=False)
        return
    with pytest.raises(PreflightError, match="same compiler"):
        refuse_same(build, a_switches, build, b_switches, null_test=False)
