"""Settings: precedence, sources, the project file's faults, and what the options together mean."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.errors import UsageError
from zlbench.settings import (
    COMMANDS,
    OPTIONS,
    Project,
    Resolved,
    ShapeMode,
    SourceKind,
    axis_of,
    format_help,
    load_project,
    requests_of,
    resolve,
    shape_source_of,
    side_of,
)
from zlbench.settings.option import Arity
from zlbench.settings.table import PREDECESSOR_VARIABLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parents[2]


def project(tmp_path: Path, text: str | None = None) -> Project:
    if text is not None:
        (tmp_path / "zlbench.toml").write_text(text, encoding="utf-8")
    return load_project(tmp_path, {})


def screen(tmp_path: Path, *argv: str, env: Mapping[str, str] | None = None, toml: str | None = None) -> Resolved:
    return resolve("screen", argv, env=env or {}, project=project(tmp_path, toml))


def refused(tmp_path: Path, toml: str) -> str:
    with pytest.raises(UsageError) as caught:
        project(tmp_path, toml)
    return caught.value.message


# ---- precedence


@pytest.mark.parametrize("present", list(itertools.product([False, True], repeat=4)))
def test_the_strongest_source_wins_and_is_remembered(tmp_path: Path, present: tuple[bool, ...]) -> None:
    line, variable, caliber, defaults = present
    toml = "[defaults]\n" + ('level = "comprehensive"\n' if defaults else "") + "[caliber.mine]\n"
    toml += 'level = "core"\n' if caliber else ""
    argv = ["--caliber", "mine", *(["--level", "core"] if line else [])]
    resolved = screen(tmp_path, *argv, env={"BENCH_LEVEL": "comprehensive"} if variable else {}, toml=toml)
    expected = (
        ("core", "command line --level")
        if line
        else ("comprehensive", "environment BENCH_LEVEL")
        if variable
        else ("core", "file zlbench.toml:caliber.mine.level")
        if caliber
        else ("comprehensive", "file zlbench.toml:defaults.level")
        if defaults
        else ("core", "default")
    )
    assert (resolved.value("level"), str(resolved.source("level"))) == expected


@pytest.mark.parametrize(
    ("argv", "value"), [([], None), (["--resume"], Path("newest")), (["--resume", "runs/x"], Path("runs/x"))]
)
def test_an_option_with_or_without_a_word(tmp_path: Path, argv: list[str], value: Path | None) -> None:
    assert screen(tmp_path, *argv).path("resume") == value
    assert screen(tmp_path, *argv, "--quick").flag("quick")


def test_a_campaign_takes_the_options_of_its_steps_and_no_directory_of_theirs() -> None:
    steps = {"screen", "partition", "ab_repeat", "report"}
    missing = {option.name for option in OPTIONS if option.commands & steps and "campaign" not in option.commands}
    assert missing == {"of", "from_screen", "screen", "root"}


def test_an_empty_variable_is_unset(tmp_path: Path) -> None:
    assert screen(tmp_path, env={"CELL_TIMEOUT": "  "}).source("cell_timeout").kind is SourceKind.DEFAULT


def test_everything_works_without_a_file(tmp_path: Path) -> None:
    resolved = screen(tmp_path, "topk", "fft")
    axis = axis_of(resolved, project(tmp_path))
    assert (axis.a.build, axis.b.build) == ("triton-3.6.0", "triton-3.9.0")
    assert resolved.texts("target") == ("cuda:90",)
    assert requests_of(resolved) == ("topk", "fft")


def test_explain_shows_every_option_of_the_command_with_its_source(tmp_path: Path) -> None:
    resolved = screen(tmp_path, "topk", "--level", "core", env={"CELL_TIMEOUT": "30"})
    lines = {line.split()[0]: line for line in resolved.explain()}
    assert set(lines) == {option.name for option in OPTIONS if "screen" in option.commands}
    assert lines["cell_timeout"].endswith("30                           environment CELL_TIMEOUT")
    assert "command line" in lines["level"]


@pytest.mark.parametrize(
    ("variable", "word", "name", "value"),
    [
        ("SHAPE_FILE", "x.yaml", "shape_file", "x.yaml"),
        ("FLAGGEMS_DIR", "/x", "suite", "/x"),
        ("ZL_BACKEND", "cuda", "backend", "cuda"),
        ("ZL_DEVICE", "3", "device", "3"),
        ("USE_FLAGTUNE", "1", "use_flagtune", True),
        ("ZL_ISOLATE_TUNER_CACHE", "0", "isolate_tuner_cache", False),
        ("ZL_DIRECT_REPEAT", "5", "direct_repeat", 5),
        ("DTYPES", "float16 bf16", "dtypes", ("float16", "bfloat16")),
        ("ZL_EXTRA_PLUGINS", "a b", "extra_plugins", ("a", "b")),
        ("FLAGGEMS_PERF_COLOR", "never", "color", "never"),
        ("OUT_DIR", "/o", "out", Path("/o")),
        ("SWITCH", "X Y=1", "switch", ("X", "Y=1")),
        ("OPS", "topk fft", "ops", ("topk", "fft")),
        ("OP", "topk", "ops", ("topk",)),
        ("TEST_NODE", "/f/benchmark/test_x.py::test_x", "ops", ("/f/benchmark/test_x.py::test_x",)),
        ("CELL_TIMEOUT", "12.5", "cell_timeout", 12.5),
        ("DRY_RUN", "1", "dry_run", True),
    ],
)
def test_the_predecessors_variables_work(tmp_path: Path, variable: str, word: str, name: str, value: object) -> None:
    assert screen(tmp_path, env={variable: word}).value(name) == value


def test_op_and_op_file_name_one_operator_and_the_command_line_beats_them(tmp_path: Path) -> None:
    env = {"OP": "perf_fft", "OP_FILE": "fft"}
    assert screen(tmp_path, env=env).value("ops") == ("perf_fft:fft",)
    assert screen(tmp_path, "topk", env=env).value("ops") == ("topk",)


def test_a_variable_that_is_set_and_not_read_is_said_aloud(tmp_path: Path) -> None:
    notes = screen(tmp_path, env={"ROUNDS": "6", "RESCORE": "x", "OP_FILE": "y", "LEVEL": "z"}).notes
    assert [note.split()[0] for note in notes] == ["ROUNDS", "RESCORE"]
    assert "rescore" in notes[1]
    assert {name for option in OPTIONS for name in option.env} <= set(PREDECESSOR_VARIABLES)


@pytest.mark.parametrize("command", ["rescore", "compare", "diff", "report", "status"])
def test_what_a_shell_exports_for_measuring_is_no_news_where_nothing_is_measured(tmp_path: Path, command: str) -> None:
    env = {"FLAGGEMS_DIR": "/x/FlagGems", "DTYPES": "float16", "ZL_DEVICE": "1"}
    assert resolve(command, [], env=env, project=load_project(tmp_path, {})).notes == ()


# ---- the command line


def test_operators_and_options_mix_in_any_order(tmp_path: Path) -> None:
    resolved = screen(tmp_path, "topk", "--level", "core", "fft", "--switch", "A", "--switch", "B=1 C", "mm")
    assert resolved.value("ops") == ("topk", "fft", "mm")
    assert resolved.value("switch") == ("A", "B=1", "C")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--targte", "cuda:90"], "Nearest: --target"),
        (["--target", "cuda:900"], "Nearest: cuda:90"),
        (["--target", ","], "no target"),
        (["--level"], "--level"),
        (["--level", "cor"], "Nearest: core"),
        (["--level", "core", "--level", "comprehensive"], "given as"),
        (["--dtypes", "fp17"], "Nearest: fp16"),
        (["--configs", "some"], "first, all"),
        (["--configs", "0"], "first, all"),
        (["--cell-timeout", "soon"], "not a number of seconds"),
        (["--cell-timeout", "-1"], "cell-timeout"),
        (["--cell-timeout", "nan"], "positive"),
        (["--jobs", "0"], "less than 1"),
        (["--jobs", "two"], "whole number"),
        (["--suite", ""], "empty"),
        (["--lev", "core"], "Nearest: --level"),
        (["--rebuild"], "option of build, not of screen"),
        (["--caliber", "defalut"], "Nearest: default"),
        (["--use-flagtune", "maybe"], "neither 1 nor 0"),
    ],
)
def test_a_faulty_command_line_is_a_usage_error_that_names_the_nearest(
    tmp_path: Path, argv: list[str], said: str
) -> None:
    with pytest.raises(UsageError) as caught:
        screen(tmp_path, *argv)
    assert said in caught.value.message


def test_a_faulty_variable_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cell-timeout: 'x' .*\(environment CELL_TIMEOUT\)"):
        screen(tmp_path, env={"CELL_TIMEOUT": "x"})


@given(
    st.sampled_from(COMMANDS),
    st.lists(st.one_of(st.text(max_size=12), st.sampled_from(["--level", "--a", "--", "-h", "-x", "--json"]))),
)
def test_no_command_line_ends_the_process(command: str, argv: Sequence[str]) -> None:
    try:
        resolve(command, argv, env={}, project=NO_FILE)
    except UsageError as error:
        message = error.message
    else:
        message = "fine"
    assert message


NO_FILE = load_project(Path("/nonexistent"), {})


@pytest.mark.parametrize("command", COMMANDS)
def test_help_prints_usage_and_examples_and_ends_nothing(tmp_path: Path, command: str) -> None:
    resolved = resolve(command, ["--help", "--nonsense"], env={}, project=project(tmp_path))
    assert resolved.help
    text = format_help(command)
    assert text.startswith(f"usage: nox -s {command} --")
    assert text.count(f"  nox -s {command} --") >= 3
    assert all(len(line) <= 100 for line in text.splitlines())
    assert all(option.flag in text for option in OPTIONS if command in option.commands)


@pytest.mark.parametrize("words", [["--bogus"], ["--rebuild"], ["--level"], ["--list=1"]])
def test_help_is_named_as_the_command_was_called(words: list[str]) -> None:
    for env, called in (({}, "zlbench screen"), ({"NOX_CURRENT_SESSION": "screen"}, "nox -s screen --")):
        with pytest.raises(UsageError) as caught:
            resolve("screen", words, env=env, project=NO_FILE)
        assert caught.value.hint == f"See {called} --help"


def test_help_shows_ten_options_first() -> None:
    featured = [option for option in OPTIONS if option.featured and "screen" in option.commands]
    assert len(featured) == 10


def test_every_option_is_declared_well() -> None:
    names = [option.name for option in OPTIONS]
    assert len(names) == len(set(names))
    for option in OPTIONS:
        assert option.commands <= set(COMMANDS)
        assert option.help
        assert option.key or not option.caliber
        assert option.metavar or option.arity is Arity.FLAG


# ---- the project file


def test_the_file_of_this_checkout_is_valid_and_its_calibers_work() -> None:
    ours = load_project(ROOT, {})
    assert {"default", "comprehensive", "ampere", "blackwell", "mi300"} <= set(ours.calibers)
    for caliber in ours.calibers:
        resolved = resolve("screen", ["--caliber", caliber, "topk"], env={}, project=ours)
        assert resolved.texts("target")
    for axis in ours.axes:
        axis_of(resolve("screen", ["--axis", axis, "topk"], env={}, project=ours), ours)
    builds = ours.known_builds()
    assert {"triton-3.6.0", "triton-3.7.1", "triton-3.9.0"} <= set(builds)
    assert builds["triton-3.9.0"].requirement == "triton==3.9.0"


def test_builds_of_the_file_become_builds(tmp_path: Path) -> None:
    (tmp_path / "src" / "python" / "triton").mkdir(parents=True)
    (tmp_path / "src" / "python" / "triton" / "__init__.py").touch()
    builds = project(
        tmp_path,
        '[build.w]\nwheel = "d/x.whl"\ntorch = ""\npackages = ["p"]\nenv = { A = "1" }\n'
        '[build.t]\ntree = "src"\npython = "/opt/bin/python"\n[build.i]\npython = "bin/python"\n',
    ).known_builds()
    assert builds["w"].requirement == str(tmp_path / "d/x.whl")
    assert (builds["w"].torch, builds["w"].packages, dict(builds["w"].env)) == ("", ("p",), {"A": "1"})
    assert (builds["t"].tree, builds["t"].python) == (tmp_path / "src/python", Path("/opt/bin/python"))
    assert builds["i"].python == tmp_path / "bin/python"


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("[calibre.x]\n", "zlbench.toml:1: no section named calibre. Nearest: caliber"),
        (
            "\n[caliber.x]\nlevle = 'core'\n",
            "zlbench.toml:3: no key named levle in [caliber.x]. Nearest: level",
        ),
        ("[caliber.x]\nlevel = 'cor'\n", "zlbench.toml:2: [caliber.x] level: 'cor' is none of"),
        ("[caliber.x]\nlevel = 3\n", "'3' is none of"),
        ("[caliber.x]\nlevel = ['core']\n", "wrong type"),
        ("[caliber.x]\ntargets = ['cuda:91']\n", "Nearest: cuda:90"),
        ("[caliber.x]\ntargets = [90]\n", "wrong type"),
        ("[caliber.x]\ndirect_repeat = 0\n", "less than 1"),
        ("[caliber]\nx = 1\n", "caliber.x is not a table"),
        ("caliber = 1\n", "caliber is not a table"),
        ("[defaults]\naxsi = 'x'\n", "Nearest: axis"),
        ("[defaults]\ncell_timeout = 'soon'\n", "not a number of seconds"),
        ("[defaults]\nops = 'x'\n", "no key named ops"),
        ("[axis.x]\nc = 'y'\n", "no key named c in [axis.x]"),
        ("[axis.x]\na = 1\n", "[axis.x] a is int 1, wanted a string"),
        ("[axis.x]\nbuild = 'x'\na = 'y'\n", "build as well as a or b"),
        ("[axis.x]\nswitch = '1A'\n", "zlbench.toml:2: '1A' is not the name"),
        ("[axis.x]\nswitch = 'A'\nvalues = ['1']\n", "two values for one switch"),
        ("[axis.x]\nnull_test = 1\n", "wanted true or false"),
        ("[build.x]\nwheels = 'y'\n", "Nearest: wheel"),
        ("[build.x]\ntorch = 'torch'\n", "says not what the build is"),
        ("[build.x]\nwheel = 'x.whl'\nrequirement = 'y'\n", "both requirement and wheel"),
        ("[build.x]\nwheel = 1\n", "wanted a string"),
        ("[build.x]\nwheel = 'x'\npackages = [1]\n", "wanted a string"),
        ("[build.x]\nwheel = 'x'\nenv = { A = 1 }\n", "env.A is int 1"),
        ("[defaults\n", "zlbench.toml:1:10:"),
        ("a = \n", "zlbench.toml:1:5:"),
        ("x = '''\n\n", "zlbench.toml:"),
        ("[defaults]\nlevel = 'core'\nlevel = 'core'\n", "zlbench.toml:3:"),
    ],
)
def test_a_faulty_file_is_refused_with_its_place(tmp_path: Path, toml: str, said: str) -> None:
    message = refused(tmp_path, toml)
    assert said in message
    assert message.startswith("zlbench.toml:")


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "zlbench.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="UTF-8"):
        load_project(tmp_path, {})


def test_zlbench_toml_names_another_file(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text("[caliber.mine]\n", encoding="utf-8")
    assert "mine" in load_project(tmp_path, {"ZLBENCH_TOML": str(tmp_path / "other.toml")}).calibers
    with pytest.raises(UsageError, match="cannot be read"):
        load_project(tmp_path, {"ZLBENCH_TOML": str(tmp_path / "gone.toml")})


def test_an_unknown_caliber_in_the_defaults_is_named_when_it_is_used(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no caliber named nope in zlbench\.toml"):
        screen(tmp_path, toml="[defaults]\ncaliber = 'nope'\n")


# ---- what options mean together

AXES = """
[axis.sw]
build = 'x'
switch = 'S'
values = ['0', 'unset']
stamps = 'ttg.s-*'
[axis.alone]
switch = 'T=1'
"""


@pytest.mark.parametrize(
    ("argv", "builds", "switches"),
    [
        ([], ("triton-3.6.0", "triton-3.9.0"), {}),
        (["--a", "x"], ("x", "triton-3.9.0"), {}),
        (["--a", "x", "--b", "y"], ("x", "y"), {}),
        (["--build", "x", "--switch", "S"], ("x", "x"), {"S": ("0", "1")}),
        (["--switch", "S"], ("triton-3.6.0", "triton-3.6.0"), {"S": ("0", "1")}),
        (["--a", "x", "--switch", "S"], ("x", "x"), {"S": ("0", "1")}),
        (["--a", "x", "--b", "y", "--switch", "S=1"], ("x", "y"), {"S": (None, "1")}),
        (["--axis", "releases", "--switch", "S"], ("triton-3.6.0", "triton-3.9.0"), {"S": ("0", "1")}),
        (["--axis", "sw"], ("x", "x"), {"S": ("0", None)}),
        (["--axis", "alone"], ("triton-3.6.0", "triton-3.6.0"), {"T": (None, "1")}),
        (["--null-test"], ("triton-3.6.0", "triton-3.6.0"), {}),
        (["--null-test", "--a", "x", "--b", "y"], ("x", "y"), {}),
        (["--null-test", "--build", "x"], ("x", "x"), {}),
    ],
)
def test_axis(tmp_path: Path, argv: list[str], builds: tuple[str, str], switches: dict[str, object]) -> None:
    loaded = project(tmp_path, AXES)
    axis = axis_of(resolve("screen", argv, env={}, project=loaded), loaded)
    assert (axis.a.build, axis.b.build) == builds
    assert {switch.name: (switch.a, switch.b) for switch in axis.switches} == switches
    assert axis.null_test == ("--null-test" in argv)


def test_stamps_of_axis_and_command_line_add_up(tmp_path: Path) -> None:
    loaded = project(tmp_path, AXES)
    resolved = resolve("screen", ["--axis", "sw", "--stamps", "ttg.x"], env={}, project=loaded)
    assert axis_of(resolved, loaded).stamps == ("ttg.s-*", "ttg.x")


@pytest.mark.parametrize(
    "argv",
    [["--build", "x", "--a", "y"], ["--null-test", "--switch", "S"], ["--axis", "nope"], ["--switch", "S S"]],
)
def test_contradictions_are_refused(tmp_path: Path, argv: list[str]) -> None:
    loaded = project(tmp_path, AXES)
    with pytest.raises(UsageError):
        axis_of(resolve("screen", argv, env={}, project=loaded), loaded)


def test_run_measures_one_side(tmp_path: Path) -> None:
    loaded = project(tmp_path)
    side = side_of(
        resolve("run", ["mm", "--build", "x", "--switch", "S=1", "--switch", "T=unset"], env={}, project=loaded),
        loaded,
    )
    assert (side.build, side.switches) == ("x", (("S", "1"), ("T", None)))
    for bad in ("S", "S=1,2", "1S=2"):
        with pytest.raises(UsageError):
            side_of(resolve("run", ["mm", "--switch", bad], env={}, project=loaded), loaded)


@pytest.mark.parametrize(
    ("argv", "env", "mode"),
    [
        ([], {}, ShapeMode.UPSTREAM),
        (["--shapes", "1x2"], {}, ShapeMode.INLINE),
        (["--shape-file", "x.yaml"], {}, ShapeMode.FILE),
        (["--shapes", "1x2"], {"SHAPE_FILE": "x.yaml"}, ShapeMode.INLINE),
        (["--shape-file", "upstream"], {}, ShapeMode.UPSTREAM),
        ([], {"SHAPE_FILE": "-"}, ShapeMode.UPSTREAM),
        (["--shape-mode", "upstream"], {"SHAPE_FILE": "x.yaml"}, ShapeMode.UPSTREAM),
    ],
)
def test_shape_source(tmp_path: Path, argv: list[str], env: dict[str, str], mode: ShapeMode) -> None:
    assert shape_source_of(screen(tmp_path, *argv, env=env)).mode is mode


@pytest.mark.parametrize(
    "argv",
    [
        ["--shapes", "1", "--shape-file", "x"],
        ["--shape-mode", "file"],
        ["--shape-mode", "upstream", "--shapes", "1"],
    ],
)
def test_shape_sources_that_contradict_each_other(tmp_path: Path, argv: list[str]) -> None:
    with pytest.raises(UsageError):
        shape_source_of(screen(tmp_path, *argv))


def test_operators_come_from_words_and_a_file(tmp_path: Path) -> None:
    (tmp_path / "ops.txt").write_text("# mine\ntopk  # slow\n\nfft softmax\n", encoding="utf-8")
    resolved = screen(tmp_path, "mm", "--ops-file", str(tmp_path / "ops.txt"))
    assert requests_of(resolved) == ("mm", "topk", "fft", "softmax")
    assert requests_of(screen(tmp_path, "--all", env={"OPS": "topk"})) == ()
    assert requests_of(screen(tmp_path, "--list")) == ()


@pytest.mark.parametrize("argv", [[], ["--all", "topk"], ["--ops-file", "/nonexistent"], ["--ops-file", "/dev/null"]])
def test_no_operator_is_refused(tmp_path: Path, argv: list[str]) -> None:
    with pytest.raises(UsageError):
        requests_of(screen(tmp_path, *argv))
