"""Bad input: one clear message with the next step, the documented exit code, no traceback, what was finished stays."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

import pytest
from fakes.compilers import make_toy_interpreter
from fakes.suites import Ended, ToyProject, data, lines


def refused(ended: Ended, code: int, *said: str) -> None:
    assert ended.code == code, ended.text
    for text in said:
        assert text in ended.err
    assert "Traceback" not in ended.text
    assert ended.err.rstrip().splitlines()[-1].startswith(f"exit {code} (")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("toyy",), ("no operator named toyy", "Nearest: toy.", "--list")),
        (("toy", "--dtypes", "flaot16"), ("no dtype named flaot16", "Nearest: float16")),
        (("toy", "--target", "quda:90"), ("no target named quda:90", "cuda:90")),
        (("toy", "--b", "zlbench.toml"), ("zlbench.toml", "neither a wheel nor an interpreter")),
        (("toy", "--backend", "cudda"), ("cudda", "Nearest: cuda")),
        (("toy", "--caliber", "defualt"), ("defualt", "Nearest: default")),
        (("toy", "--axis", "toyz"), ("toyz", "Nearest: toys")),
        (("toy", "--swtich", "X"), ("--swtich", "Nearest: --switch")),
        (("toy", "--resume", "nowhere"), ("no screen to go on with",)),
        (("toy", "--shape-file", "open.yaml"), ("open.yaml:3:1",)),
        (("toy", "--shape-file", "missing.yaml"), ("missing.yaml: cannot be read",)),
        (("toy", "--shape-file", "other.yaml"), ("other.yaml", "no operator named toyy", "Nearest: toy.")),
        ((), ("no operator is named", "--all")),
    ],
    ids=lambda value: "_".join(value[-2:]) if isinstance(value, tuple) and value and value[0] == "toy" else None,
)
def test_what_cannot_be_meant_is_refused(project: ToyProject, words: tuple[str, ...], said: tuple[str, ...]) -> None:
    (project.root / "open.yaml").write_text("toy:\n  shapes: [[1, 2\n")
    (project.root / "other.yaml").write_text("toyy:\n  shapes:\n    - [1, 2]\n")
    refused(project.run("screen", *words), 2, *said)
    assert not project.runs.exists()


@pytest.mark.parametrize("command", ["screen", "run"])
@pytest.mark.parametrize("plugin", ["no.such.plugin", "no_such_plugin", "json.nothing"])
def test_a_plugin_that_is_not_there_is_refused_before_the_first_cell(
    project: ToyProject, command: str, plugin: str
) -> None:
    env = {"ZL_EXTRA_PLUGINS": f"json {plugin}"}
    said = (f"finds no pytest plugin {plugin}\n", "--extra-plugins (ZL_EXTRA_PLUGINS)")
    refused(project.run(command, "toy", "--quick", env=env), 2, *said)
    assert project.journal() == []
    assert list(project.runs.glob("*/*/run.log")) == list(project.runs.glob("*/run.log")) == []


def test_plugins_are_found_by_every_name_that_pytest_takes(project: ToyProject) -> None:
    (project.root / "toy_plugin.py").write_text("def pytest_sessionfinish():\n    print('toy plugin was here')\n")
    plugins = "toy_plugin pytester no:doctest"
    ended = project.run("run", "toy", "--quick", "--extra-plugins", plugins, env={
        "PYTHONPATH": f"{project.env()['PYTHONPATH']}:{project.root}"})  # fmt: skip
    assert ended.code == 0, ended.text
    assert "toy plugin was here" in next(project.runs.glob("toy_*/run.log")).read_text()


@pytest.mark.parametrize("words", [("screen", "toy"), ("run", "toy"), ("screen", "--list")])
def test_a_suite_that_a_variable_names_is_told_by_the_variable(project: ToyProject, words: tuple[str, ...]) -> None:
    ended = project.run(*words, env={"FLAGGEMS_DIR": "/nonexistent"})
    refused(ended, 3, "check=suite-directory", "no suite directory /nonexistent (environment FLAGGEMS_DIR).")


def test_a_missing_wheel_has_one_exit_code(project: ToyProject) -> None:
    wheel = "gone-1.0-py3-none-any.whl"
    refused(project.run("screen", "toy", "--b", wheel), 3, "PREFLIGHT_FAILED check=build-source", wheel, "not exist")
    project.toml(y=f'wheel = "{wheel}"')
    refused(project.run("screen", "toy"), 3, "PREFLIGHT_FAILED check=build-source", wheel, "[build.y]")


def test_a_shape_file_of_the_project_lies_beside_it(project: ToyProject) -> None:
    (project.root / "toml.yaml").write_text("toy:\n  shapes:\n    - [1, 64]\n")
    project.toml(more='[caliber.one]\nshape_file = "toml.yaml"')
    below = project.root / "below"
    below.mkdir()
    ended = project.run("run", "toy", "--caliber", "one", "--dry-run", "--json", env={"ZLBENCH_CWD": str(below)})
    assert ended.code == 0, ended.err
    assert [cell["shape_file"] for cell in json.loads(ended.out)["cells"]] == [str(project.root / "toml.yaml")]


@pytest.mark.parametrize("command", ["screen", "run"])
def test_a_dry_run_shows_the_exact_commands(project: ToyProject, command: str) -> None:
    assert project.run("screen", "toy", "--quick").code == 0  # makes the builds
    ended = project.run(command, "toy", "--dry-run")
    assert ended.code == 0
    assert "A: env " in ended.out
    assert f"TRITON_CACHE_DIR={project.runs}" in ended.out
    assert "-m zlbench_plugins.worker" in ended.out
    assert "benchmark/test_toy.py::test_toy" in ended.out


@pytest.mark.parametrize("command", ["screen", "run"])
def test_a_dry_run_shows_the_conditions(project: ToyProject, command: str) -> None:
    plain = project.run(command, "toy", "--dry-run", "--backend", "compile").out
    assert f"  suite directory ({project.suite}) · level core · target cuda:90 · compile only\n" in plain
    assert "  dtypes each operator's own · shapes the suite's own · configs first\n" in plain
    (project.root / "mine.yaml").write_text("toy:\n  shapes:\n    - [1, 64]\n")
    words = ("--backend", "cuda", "--dtypes", "float16", "--shape-file", "mine.yaml", "--quick", "--l2", "flushed")
    card = project.run(command, "toy", "--dry-run", *words).out
    assert f"  suite directory ({project.suite}) · level core · NVIDIA CUDA\n" in card
    file = project.root / "mine.yaml"
    assert f"  dtypes float16 · shapes file {file} · timer cuda_graph · L2 flushed · baseline canary\n" in card
    assert "  quick: one shape and one dtype an operator\n" in card


def test_a_suite_file_that_cannot_be_read_does_not_vanish(project: ToyProject) -> None:
    (project.suite / "benchmark" / "test_torn.py").write_text("def test_torn():\n    toy(\n")
    said = "could not be read: benchmark/test_torn.py:2: '(' was never closed"
    refused(project.run("screen", "torn"), 2, "no operator named torn", said)
    listed = project.run("screen", "--list")
    assert (listed.code, said in listed.err) == (0, True)
    assert project.run("screen", "toy", "--quick").code == 0
    refused(project.run("screen", "--all", "--quick"), 6, said)
    assert data(project.screens()[-1] / "status.json")["notes"][0] == said
    refused(project.run("run", "--all", "--quick"), 6, said)


def test_a_run_that_failed_says_nothing_of_costs_that_nobody_knows(project: ToyProject) -> None:
    project.trouble({"op": "toy", "at": "call", "do": "segv"})
    ended = project.run("run", "toy", "--quick")
    assert ended.code == 6, ended.text
    assert "\n0 kernels\n" in ended.out
    assert "?" not in ended.out


def test_a_list_has_the_names_that_can_be_given_and_no_wide_gaps(project: ToyProject) -> None:
    long = "test_" + "a" * 90
    (project.suite / "benchmark" / "test_named.py").write_text(
        "import pytest\nfrom benchmark.base import Benchmark\n@pytest.mark.nick\n@pytest.mark.named\n"
        "def test_named():\n    Benchmark('named')\n"
        f"@pytest.mark.skip(reason='old')\ndef {long}():\n    Benchmark('gone')\n"
    )
    listed = project.run("screen", "--list").out.splitlines()
    (named,) = [line.split() for line in listed if "::test_named" in line]
    assert named[1] == "test_named.py::test_named"
    assert "nick" in named[2:] or named[0] == "nick"
    (gone,) = [line for line in listed if long in line]
    assert gone.endswith("  always skipped: old")
    assert max(len(line) for line in listed if line != gone) < 100
    given = project.run("run", "named", "nick", named[1], "--dry-run")
    assert given.code == 0, given.text


HOSTILE = ("../../etc/passwd", "$(touch pwned)", "`touch pwned`", "toy;touch pwned", "/", "..", "x" * 400)


def test_a_hostile_name_reaches_neither_a_shell_nor_the_disk(project: ToyProject) -> None:
    def files() -> set[Path]:
        return {path for path in project.root.rglob("*") if "__pycache__" not in path.parts}

    before = files()
    for name in HOSTILE:
        refused(project.run("screen", "toy", name), 2)
    refused(project.run("run", "toy", HOSTILE[0]), 2)
    assert files() == before


def test_a_hostile_operator_stays_in_its_run_directory(project: ToyProject) -> None:
    (project.suite / "benchmark" / "test_hostile.py").write_text(
        "import toygems\nfrom . import base\n\n\ndef test_hostile():\n"
        '    base.Benchmark(op_name="../../$(touch pwned)", torch_op=None, gems_op=toygems.operator("other")).run()\n'
    )
    ended = project.run("screen", "hostile")
    assert ended.code == 0
    operator = data(project.screen / "screen.json")["operators"][0]
    assert operator["op"] == "../../$(touch pwned)"
    assert (project.screen / operator["directory"]).resolve().parent == project.screen
    assert not list(project.root.parent.rglob("pwned"))
    assert len(lines(project.screen / operator["directory"] / "B" / "rows.jsonl")) == 10


def test_a_malformed_project_file_names_its_line(project: ToyProject) -> None:
    (project.root / "zlbench.toml").write_text('[build.x]\ntree = "x\n')
    refused(project.run("screen", "toy"), 2, "zlbench.toml:2:")
    (project.root / "zlbench.toml").write_text('[defaults]\naxsi = "x"\n')
    refused(project.run("screen", "toy"), 2, "zlbench.toml:2: no key named axsi", "Nearest: axis")


def test_a_dtype_that_the_suite_does_not_know(project: ToyProject) -> None:
    ended = project.run("screen", "toy", "--dtypes", "int64")
    refused(ended, 2)
    assert "invalid choice: 'int64'" in ended.out
    assert project.run("run", "toy", "--dtypes", "int64").code == 2


def test_interpreters_without_what_is_needed(project: ToyProject, tmp_path: Path) -> None:
    refused(project.run("screen", "toy", "--a", sys.executable), 3, "cannot import triton", "without triton")
    python = make_toy_interpreter(tmp_path / "venv")
    refused(project.run("screen", "toy", "--a", str(python)), 3, "cannot import torch", "without torch")
    status = data(project.screens()[-1] / "status.json")
    assert (status["sides"]["A"]["state"], status["sides"]["A"]["returncode"]) == ("PREFLIGHT", 3)


@pytest.mark.parametrize("command", ["screen", "run"])
@pytest.mark.parametrize("out", ["zlbench.toml", "zlbench.toml/below", "/proc/runs"])
def test_results_that_cannot_be_written(project: ToyProject, command: str, out: str) -> None:
    ended = project.run(command, "toy", "--out", out)
    refused(ended, 3, "PREFLIGHT_FAILED check=out-dir", out, "--out DIR")
    assert project.journal() == []


def test_a_home_that_cannot_be_written(project: ToyProject) -> None:
    refused(project.run("screen", "toy", env={"ZLBENCH_HOME": str(project.root / "zlbench.toml")}), 3, "write access")


def test_a_disk_that_runs_full_in_the_middle(project: ToyProject) -> None:
    project.trouble({"compiler": "y", "op": "other", "dtype": "float16", "shape": 3, "at": "call", "do": "disk_full"})
    ended = project.run("screen", "toy", "other", "third", "--jobs", "1")
    refused(ended, 6, "DISK_FULL the disk is full", "Free some space")
    assert [row["status"] for row in lines(project.screen / "other" / "B" / "rows.jsonl")] == ["SUCCESS", "SUCCESS"]
    assert data(project.screen / "other" / "B" / "result.json")["state"] == "DISK_FULL"
    assert data(project.screen / "status.json")["exit_code"] == 6
    project.trouble()
    (command,) = [line.partition("go on:")[2].split() for line in ended.err.splitlines() if "go on:" in line]
    again = project.run(*command[1:])
    assert again.code == 0
    assert again.err.count("kept") == 3


@pytest.mark.parametrize(("kilobytes", "where"), [(1, "plan.json"), (10, "toy/A")], ids=["driver", "cell"])
def test_files_that_stay_too_short(project: ToyProject, kilobytes: int, where: str) -> None:
    """A limit on file sizes fails as a full disk does, in the driver or in a measured process."""
    project.run("screen", "toy", "--quick")  # so that the builds are known
    project.table(inputs_of_a_shape=5)  # rows.jsonl grows longer than any file of the driver
    limit = kilobytes * 1024
    ended = project.run(
        "screen", "toy", "--jobs", "1", limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    )
    refused(ended, 6, "DISK_FULL", where, "--resume")


def test_colour_variables_that_contradict_each_other(project: ToyProject) -> None:
    ended = project.run("screen", "toy", "--quick", env={"NO_COLOR": "1", "FORCE_COLOR": "1"})
    assert ended.code == 0
    assert "\x1b[" not in ended.text


def test_colour_where_it_is_asked_for(project: ToyProject) -> None:
    for words, env in (
        (("--color", "always"), {}),
        ((), {"FORCE_COLOR": "1"}),
        ((), {"FLAGGEMS_PERF_COLOR": "always"}),
    ):
        coloured = project.run("screen", "toy", "--quick", *words, env=env)
        assert "\x1b[33mIR_CHANGED\x1b[0m  " in coloured.out
        assert "\x1b[" not in coloured.err
    assert "\x1b[32mok\x1b[0m" in project.run("run", "toy", "--quick", "--color", "always").out
    assert "\x1b[" not in project.run("run", "toy", "--quick").text


def test_debug_shows_the_traceback(project: ToyProject) -> None:
    assert "Traceback" in project.run("screen", "toyy", "--debug").err


def test_two_screens_of_one_second_have_directories_of_their_own(project: ToyProject) -> None:
    both = [project.start("screen", "toy", "--quick") for _ in range(2)]
    assert [started.end().code for started in both] == [0, 0]
    assert len(project.screens()) == 2
    for screen in project.screens():
        assert data(screen / "status.json")["state"] == "finished"
        assert len(lines(screen / "toy" / "A" / "rows.jsonl")) == 1
