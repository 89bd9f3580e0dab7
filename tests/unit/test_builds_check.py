"""The environment of a measured process."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from zlbench.builds.check import check_imported, measured_env
from zlbench.builds.manifest import Manifest
from zlbench.builds.probe import Observed
from zlbench.builds.spec import BuildKind
from zlbench.errors import BuildMismatchError

MANIFEST = Manifest(
    name="a", kind=BuildKind.WHEEL, spec_digest="", interpreter="/p", python_version="3.11.7",
    pythonpath=("/site", "/tools"), triton_path="/site/triton", triton_version="3.6.0", tools_sha256="",
    native_path="/site/triton/_C/libtriton.so", native_sha256="a" * 64, python_sha256="b" * 64,
)  # fmt: skip
SEEN = Observed(
    interpreter="/p", python_version="3.11.7", pythonpath=("/site", "/tools"), triton_path="/site/triton",
    triton_version="3.6.0", native_path="/site/triton/_C/libtriton.so",
)  # fmt: skip


def test_the_caller_comes_first_on_the_path_then_the_build_then_ours() -> None:
    env = measured_env(MANIFEST, {"PYTHONPATH": "/mine:/too"}, {"PYTHONPATH": "/zlbench"})
    assert env["PYTHONPATH"].split(os.pathsep) == ["/mine", "/too", "/site", "/tools", "/zlbench"]


def test_no_empty_entry_puts_the_current_directory_on_the_path() -> None:
    assert measured_env(MANIFEST, {"PYTHONPATH": ""})["PYTHONPATH"] == "/site:/tools"
    assert "PYTHONPATH" not in measured_env(replace(MANIFEST, pythonpath=()), {})


def test_what_belongs_to_the_caller_s_own_python_and_session_goes() -> None:
    theirs = {
        "PYTHONHOME": "/h", "VIRTUAL_ENV": "/v", "PYTEST_ADDOPTS": "-x", "PYTEST_PLUGINS": "p",
        "NOX_DEFAULT_VENV": "uv", "HOME": "/root", "CUDA_VISIBLE_DEVICES": "3",
    }  # fmt: skip
    env = measured_env(MANIFEST, theirs)
    assert {key: env[key] for key in theirs if key in env} == {"HOME": "/root", "CUDA_VISIBLE_DEVICES": "3"}
    assert env["PYTHONSAFEPATH"] == env["PYTHONDONTWRITEBYTECODE"] == env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] == "1"


def test_build_over_caller_and_extra_over_build() -> None:
    build = replace(MANIFEST, env={"X": "build", "Y": "build"})
    env = measured_env(build, {"X": "caller", "Z": "caller"}, {"Y": "extra"})
    assert (env["X"], env["Y"], env["Z"]) == ("build", "extra", "caller")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, {"NO_COLOR"}),
        ({"FORCE_COLOR": "1"}, {"FORCE_COLOR"}),
        ({}, set()),
    ],
)
def test_never_both_colours(given: dict[str, str], kept: set[str]) -> None:
    assert {"NO_COLOR", "FORCE_COLOR"} & set(measured_env(MANIFEST, given)) == kept


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ({"triton_path": "/venv/lib/triton"}, "It came from /venv/lib"),
        ({"triton_path": "/leak/triton", "pythonpath": ("/leak", "/site")}, "PYTHONPATH entry /leak shadows"),
        ({"native_path": "/leak/libtriton.so"}, "/leak/libtriton.so"),
        ({"strays": ("/leak/triton/backends/x.py",)}, "/leak/triton/backends/x.py"),
        ({}, "Files changed"),
    ],
)
def test_each_way_to_be_wrong_has_its_hint(change: dict[str, str], hint: str) -> None:
    manifest = MANIFEST
    if not change:  # the package of the manifest does not exist, so all of its files are gone
        from zlbench.builds.contents import FileRecord, Part, Stamp

        lost = Stamp(path="__init__.py", size=1, modified_ns=1, changed_ns=1)
        manifest = replace(MANIFEST, files=(FileRecord(stamp=lost, part=Part.PYTHON, sha256="0"),))
    with pytest.raises(BuildMismatchError) as caught:
        check_imported("B", manifest, replace(SEEN, **change))  # type: ignore[arg-type]
    assert hint in caught.value.hint


def test_observed_comes_back_equal() -> None:
    assert Observed.from_dict(SEEN.to_dict()) == SEEN
    assert Observed.from_dict({**SEEN.to_dict(), "strays": []}) == SEEN
