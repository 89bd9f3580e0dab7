"""Every option of every command, declared once; nothing else reads an environment variable by its name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import parsers
from .option import Arity, EnvValue, Group, Option, first_set

if TYPE_CHECKING:
    from collections.abc import Mapping

# doctor takes what screen takes, so that the same words after it show what that screen would use.
SCREEN = frozenset({"screen", "doctor"})
PAIRS = SCREEN | {"ab_repeat"}
MEASURE = PAIRS | {"run"}
BUILDS = MEASURE | {"build"}
EVERY = BUILDS | {"rescore", "explain", "diff", "compare", "partition", "report", "status"}
COMMANDS = (
    "screen", "partition", "ab_repeat", "report", "campaign", "status", "run", "diff", "compare", "rescore", "build",
    "doctor", "explain",
)  # fmt: skip
STEPS = ("screen", "partition", "ab_repeat", "report")
"""The commands that a campaign calls one after the other; it takes the options of all of them."""


PLANNED = frozenset({"partition", "ab_repeat"})


def operators_from_environment(env: Mapping[str, str], names: tuple[str, ...]) -> EnvValue | None:
    """TEST_NODE, else OPS, else OP with OP_FILE: the predecessor's three ways to name what is measured."""
    found = first_set(env, names)
    op_file = env.get("OP_FILE", "").strip()
    if found is not None and found.name == "OP" and op_file:
        return EnvValue(name="OP and OP_FILE", word=f"{found.word.strip()}:{op_file}")
    return found


def _option(name: str, commands: frozenset[str], group: Group, **rest: Any) -> Option:
    return Option(name=name, commands=commands, group=group, **rest)


def _flag(name: str, commands: frozenset[str], group: Group, **rest: Any) -> Option:
    return _option(name, commands, group, parse=parsers.flag, default=False, arity=Arity.FLAG, **rest)


# One option is one paragraph here; one argument a line would make the table six screens long.
# fmt: off
_WHAT = (
    _option("ops", MEASURE | {"diff"}, Group.WHAT, parse=parsers.words, default=(), arity=Arity.POSITIONAL,
            metavar="OP", env=("TEST_NODE", "OPS", "OP"), read_env=operators_from_environment, featured=True,
            help="topk, perf_fft:fft, OP:FILE:DTYPES, vllm:OP, OP@FILE, softmax* or a pytest node id"),
    _option("words", frozenset({"explain"}), Group.WHAT, parse=parsers.words, default=(),
            arity=Arity.POSITIONAL, metavar="WORD",
            help="the word in capitals, or the exit code, to explain"),
    _option("dirs", frozenset({"rescore"}), Group.WHAT, parse=lambda word: (parsers.path(word),), default=(),
            arity=Arity.POSITIONAL, metavar="DIR", env=("RESCORE",), help="finished screen directories"),
    _option("runs", frozenset({"compare"}), Group.WHAT, parse=lambda word: (parsers.path(word),), default=(),
            arity=Arity.POSITIONAL, metavar="DIR",
            help="two run directories, A then B; or one pair of a screen; or one screen, by default the newest"),
    _option("of", frozenset({"report", "status"}), Group.WHAT, parse=lambda word: (parsers.path(word),), default=(),
            arity=Arity.POSITIONAL, metavar="DIR",
            help="a campaign or the root of repeated rounds; report: also two run directories (A, then B), a pair of a "
                 "screen, or a screen; default: the newest campaign or rounds below --out"),
    _option("from_screen", frozenset({"partition"}), Group.WHAT, parse=lambda word: (parsers.path(word),), default=(),
            arity=Arity.POSITIONAL, metavar="SCREEN", env=("SCREEN",),
            help="the screen whose operators are spread; default: the newest below --out"),
    _option("verdict", PLANNED, Group.WHAT, parse=parsers.verdicts, default=(),
            arity=Arity.REPEATED, metavar="VERDICTS", env=("VERDICT",),
            help="take the operators with these verdicts; default: IR_CHANGED and NO_IR_DIFF whose machine code is not "
                 "known to be the same"),
    _option("extra_ops", PLANNED, Group.WHAT, parse=parsers.operators, default=(),
            arity=Arity.REPEATED, metavar="OPS", env=("EXTRA_OPS",),
            help="further operators, placed last, each on the card with the least load"),
    _option("builds", frozenset({"build"}), Group.WHAT, parse=parsers.words, default=(),
            arity=Arity.POSITIONAL, metavar="BUILD", help="builds to make; without any, the two of the axis"),
    _flag("all", MEASURE, Group.WHAT, featured=True,
          help="every operator of the suite that is not skipped unconditionally"),
    _option("ops_file", MEASURE, Group.WHAT, parse=parsers.path, metavar="FILE",
            help="a file with one operator a line; what follows # is a comment"),
    _flag("list", MEASURE, Group.WHAT, help="list the operators of the suite and stop"),
    _option("suite", BUILDS | {"diff"}, Group.WHAT, parse=parsers.text,
            default="builtin", metavar="SUITE", env=("FLAGGEMS_DIR",), key="suite",
            help="builtin, or a checkout with benchmark/ and src/<package>/ such as FlagGems"),
    _option("shapes", MEASURE, Group.WHAT, parse=parsers.text, metavar="SHAPES",
            help='shapes of the named operator: "1024x1024;64x512" or YAML: "[[16,1024,256],256]"'),
    _option("shape_file", MEASURE, Group.WHAT, parse=parsers.text, metavar="FILE", env=("SHAPE_FILE",),
            key="shape_file", caliber=True,
            help="YAML file: operator name, then shapes: with a list; upstream keeps the suite's own shapes"),
    _option("shape_mode", MEASURE, Group.WHAT, parse=parsers.one_of("inline", "file", "upstream"),
            metavar="MODE", env=("SHAPE_MODE",), key="shape_mode", caliber=True,
            help="inline, file or upstream; follows from --shapes and --shape-file when not given"),
    _option("dtypes", MEASURE, Group.WHAT, parse=parsers.dtypes, default=(), metavar="DTYPES",
            env=("DTYPES",), arity=Arity.REPEATED, key="dtypes", caliber=True,
            help="data types, such as float16,bfloat16; default: what each operator declares"),
)

_COMPARE = (
    _option("axis", BUILDS, Group.COMPARE, parse=parsers.text, default="releases", metavar="NAME", key="axis",
            help="the pair to compare, from [axis.NAME] of zlbench.toml"),
    _option("a", PAIRS | {"build"}, Group.COMPARE, parse=parsers.text, metavar="BUILD",
            featured=True,
            help="side A: a build's name, triton==3.6.0, a wheel, an interpreter or a source tree"),
    _option("b", PAIRS | {"build"}, Group.COMPARE, parse=parsers.text, metavar="BUILD",
            featured=True, help="side B, in the same ways"),
    _option("build", MEASURE, Group.COMPARE, parse=parsers.text, metavar="BUILD",
            help="one build for both sides, to compare switch values"),
    _option("switch", BUILDS, Group.COMPARE, parse=parsers.words, default=(), arity=Arity.REPEATED,
            metavar="SWITCH", env=("SWITCH",), featured=True,
            help="NAME: 0 against 1; NAME=x: unset against x; NAME=x,y: x against y, where unset is a value"),
    _flag("null_test", PAIRS, Group.COMPARE, help="A and B are meant to be equal: a noise run"),
    _option("stamps", MEASURE | {"rescore", "diff"}, Group.COMPARE, parse=parsers.words, default=(),
            arity=Arity.REPEATED, metavar="PATTERN",
            help="IR attributes that the switch itself writes, such as ttg.rlc-*; they are no change"),
)

_HOW = (
    _option("caliber", BUILDS, Group.HOW, parse=parsers.text, default="default", metavar="NAME",
            featured=True, key="caliber", help="the conditions, from [caliber.NAME] of zlbench.toml"),
    _option("target", MEASURE, Group.HOW, parse=parsers.targets, default=("cuda:90",),
            arity=Arity.REPEATED, metavar="TARGET", key="targets", caliber=True, featured=True,
            help="what to compile for: cuda:80, cuda:90, cuda:100, hip:gfx942; several with commas"),
    _option("level", MEASURE, Group.HOW, parse=parsers.one_of("core", "comprehensive"), default="core",
            metavar="LEVEL", env=("BENCH_LEVEL",), key="level", caliber=True, featured=True,
            help="how many shapes: core or comprehensive"),
    _option("configs", MEASURE, Group.HOW, parse=parsers.configs, default="first", metavar="first|all|K",
            key="configs", caliber=True, help="which configs of an autotuned kernel are compiled, no device"),
    _option("mode", MEASURE, Group.HOW, parse=parsers.one_of("kernel", "operator", "wrapper", "cudagraph"),
            default="kernel", metavar="MODE", key="mode", caliber=True, help="the suite's own --mode"),
    _option("backend", MEASURE, Group.HOW, parse=parsers.text, default="auto",
            metavar="NAME", env=("ZL_BACKEND",), key="backend", caliber=True,
            help="the device family; auto: a card that is there and that the builds' torch can use, else compile"),
    _option("device", MEASURE, Group.HOW, parse=parsers.text, metavar="ID", env=("ZL_DEVICE",), key="device",
            caliber=True, help="which device, as the parent process sees it"),
    _option("warmup", MEASURE, Group.HOW, parse=parsers.count, metavar="MS", key="warmup", caliber=True,
            help="warm-up budget of a row; default on a card: 50, of a screen 10"),
    _option("iter", MEASURE, Group.HOW, parse=parsers.count, metavar="MS", key="iter", caliber=True,
            help="budget of a row's measured calls; default on a card: 100, of a screen 20"),
    _option("direct_repeat", MEASURE, Group.HOW, parse=parsers.count, default=1, metavar="N",
            env=("ZL_DIRECT_REPEAT",), key="direct_repeat", caliber=True,
            help="calls whose median is taken where a row is timed without a graph"),
    _option("cudagraph", MEASURE, Group.HOW, parse=parsers.one_of("auto", "1", "0"), default="auto", metavar="auto|1|0",
            env=("ZL_ENABLE_CUDAGRAPH",), key="cudagraph", caliber=True,
            help="time with captured graphs where the device family can; 0: direct calls"),
    _option("l2", MEASURE, Group.HOW, parse=parsers.one_of("warm", "flushed"), metavar="warm|flushed", key="l2",
            caliber=True, help="second-level cache before each timed call; default: warm with graphs, flushed without"),
    _option("baseline", MEASURE, Group.HOW, parse=parsers.one_of("all", "canary", "none"), default="canary",
            metavar="all|canary|none", key="baseline", caliber=True,
            help="rows whose Torch baseline is timed; canary: a few, to see drift of the card"),
    _option("replay_from", MEASURE, Group.HOW, parse=parsers.paths, arity=Arity.REPEATED, metavar="RUNS",
            env=("REPLAY_FROM",),
            help="replay the autotune choices that these runs, or a screen's A, recorded: one for each operator"),
    _option("autotune", MEASURE, Group.HOW, parse=parsers.flag, default=True, metavar="0|1",
            env=("ZL_ENABLE_AUTOTUNE",), help="record the choices of autotuners, or replay them"),
    _option("ir", MEASURE, Group.HOW, parse=parsers.flag, default=True, metavar="0|1", env=("ZL_ENABLE_IR",),
            help="record IR and machine code of what ran"),
    _option("mm_cluster", MEASURE, Group.HOW, parse=parsers.flag, default=False, metavar="0|1",
            env=("ZL_ENABLE_MM_CLUSTER",), key="mm_cluster", caliber=True,
            help="load the work-around for the suite's Hopper mm cluster kernel"),
    _option("parallel_warmup", frozenset({"run"}), Group.HOW, parse=parsers.count_or_none, metavar="N",
            env=("PARALLEL_WARMUP_GPUS",), help="spread the autotune sweep over N cards; measuring stays on one"),
    _flag("force_pairing", MEASURE, Group.HOW,
          help="measure a suite on a compiler that it is known to call with wrong arguments"),
    _option("use_flagtune", MEASURE, Group.HOW, parse=parsers.flag, default=False, metavar="0|1",
            env=("USE_FLAGTUNE",), key="use_flagtune", caliber=True,
            help="search FlagTune's larger space of configs"),
    _option("isolate_tuner_cache", MEASURE, Group.HOW, parse=parsers.flag, default=True, metavar="0|1",
            env=("ZL_ISOLATE_TUNER_CACHE",), key="isolate_tuner_cache", caliber=True,
            help="give each side a tuner cache of its own"),
    _flag("share_cache", SCREEN, Group.HOW,
          help="share the compile cache between the sides; NO_IR_DIFF is then refused (CACHE_NOT_FRESH)"),
    _flag("allow_caliber_mismatch", PAIRS | {"rescore", "compare", "report"}, Group.HOW,
          help="compare although the conditions differ; the differences stay on top"),
    _option("extra_plugins", MEASURE, Group.HOW, parse=parsers.words, default=(), arity=Arity.REPEATED,
            metavar="PLUGIN", env=("ZL_EXTRA_PLUGINS",), help="further pytest plugins to load"),
)

_RUN = (
    _flag("quick", MEASURE, Group.RUN, featured=True,
          help="one shape and one dtype an operator: a first look, not a screen"),
    _flag("dry_run", MEASURE | {"build", "partition"}, Group.RUN, env=("DRY_RUN",), featured=True,
          help="print the plan and the exact commands, start nothing"),
    _option("devices", PLANNED, Group.RUN, parse=parsers.devices, default=(), arity=Arity.REPEATED,
            metavar="CARDS", env=("DEVICES",), key="devices", featured=True,
            help="cards by index or UUID, such as 0,1,2,3, or all; with no device, names of lanes"),
    _option("gpus", frozenset({"ab_repeat"}), Group.RUN, parse=parsers.devices, default=(), arity=Arity.REPEATED,
            metavar="CARDS", help="another word for --devices"),
    _option("lanes", PLANNED, Group.RUN, parse=parsers.count, metavar="N", featured=True,
            help="so many lanes, numbered from 0, instead of --devices; default with no device: one a processor "
                 "(ab_repeat: one)"),
    _option("rounds", PLANNED, Group.RUN, parse=parsers.count, default=6, metavar="N",
            env=("ROUNDS",), key="rounds", featured=True, help="pairs of cells that each operator is measured in"),
    _flag("until_settled", frozenset({"ab_repeat"}), Group.RUN, featured=True,
          help="as many rounds as each row needs, looked at after 4, 8 and --max-rounds, instead of --rounds"),
    _option("max_rounds", frozenset({"ab_repeat"}), Group.RUN, parse=parsers.count, default=16, metavar="N",
            key="max_rounds", help="the most rounds with --until-settled"),
    _option("controls", frozenset({"ab_repeat"}), Group.RUN, parse=parsers.count_or_none, metavar="N",
            key="controls", featured=True,
            help="so many operators with equal machine code are measured along, to calibrate; 0: none; default 4 to 8"),
    _option("retries", frozenset({"ab_repeat"}), Group.RUN, parse=parsers.count_or_none, default=2, metavar="N",
            key="retries", help="times that a pair which something disturbed is measured again"),
    _flag("allow_no_ir_diff", frozenset({"ab_repeat"}), Group.HOW, env=("SWITCH_ALLOW_NO_IR_DIFF",),
          help="measure on although the switch changes neither IR nor machine code of an operator"),
    _option("telemetry_interval", frozenset({"ab_repeat"}), Group.RUN, parse=parsers.seconds_or_none, default=5.0,
            metavar="SECONDS", env=("TELEMETRY_INTERVAL",), key="telemetry_interval",
            help="seconds between readings of the card, or of the host without one; 0: none"),
    _option("root", frozenset({"ab_repeat"}), Group.RUN, parse=parsers.path, metavar="DIR", env=("AB_ROOT",),
            help="write into this directory; default: repeat_TIME below --out"),
    _flag("no_split", PLANNED, Group.RUN,
          help="cut no operator by rows, whatever its weight"),
    _flag("rebuild", frozenset({"build"}), Group.RUN, featured=True,
          help="install the named builds anew although they are there"),
    _option("jobs", BUILDS, Group.RUN, parse=parsers.count, metavar="N", key="jobs",
            help="processes side by side; default: what the processors allow"),
    _option("cell_timeout", MEASURE, Group.RUN, parse=parsers.seconds, default=2400.0, metavar="SECONDS",
            env=("CELL_TIMEOUT",), key="cell_timeout", help="time limit of one operator on one side"),
    _option("wait_for_card", MEASURE, Group.RUN, parse=parsers.seconds_or_none, default=0.0, metavar="SECONDS",
            key="wait_for_card", help="wait for a card on which another zlbench measures; 0 refuses at once"),
    _option("screen", frozenset({"diff", "ab_repeat"}), Group.RUN, parse=parsers.path, metavar="DIR", env=("SCREEN",),
            help="the screen to look into, or whose operators are measured; default: the newest below --out"),
    _option("resume", PAIRS, Group.RUN, parse=parsers.path, arity=Arity.OPTIONAL, bare=parsers.NEWEST, metavar="DIR",
            help="go on with what was interrupted, by default the newest; what is complete is not done again"),
    _option("out", EVERY - {"explain"}, Group.RUN, parse=parsers.path,
            default=parsers.path("runs"), metavar="DIR", env=("OUT_DIR",), key="out",
            help="where results are written; of a report whose directories are named: into DIR itself, else where the "
                 "rounds lie, and of two runs into runs/report_TIME"),
)

_OUTPUT = (
    _flag("json", EVERY, Group.OUTPUT, help="print the result as JSON on stdout"),
    _flag("keep_binaries", MEASURE, Group.OUTPUT, key="keep_binaries",
          help="keep the lower IR and the binaries, not only their hashes"),
    _option("color", EVERY, Group.OUTPUT, parse=parsers.one_of("auto", "always", "never"), default="auto",
            metavar="WHEN", env=("FLAGGEMS_PERF_COLOR",), key="color", help="auto, always or never"),
    _option("delta", frozenset({"report"}), Group.OUTPUT, parse=parsers.percent, default=1.0, metavar="PERCENT",
            key="delta", featured=True,
            help="difference below which nobody cares: an interval within ±PERCENT is no difference"),
    _option("fail_on", frozenset({"report"}), Group.OUTPUT, parse=parsers.gate, default=(), arity=Arity.REPEATED,
            metavar="EXPR", featured=True,
            help="end with 7 where something is beyond it: slower>2%, faster>5%, spills>0, registers>10%, …"),
    _option("export", frozenset({"report"}), Group.OUTPUT, parse=parsers.several_of("junit", "pytest-benchmark", "go"),
            default=(), arity=Arity.REPEATED, metavar="FORMATS",
            help="further files: junit, pytest-benchmark, go; junit.xml comes with --fail-on by itself"),
    _option("receipts", frozenset({"report"}), Group.OUTPUT, parse=parsers.path, metavar="DIR",
            help="write what a pull request is asked for into DIR: tables, kernels, identities, caliber, exclusions"),
    _flag("explain", frozenset({"doctor"}), Group.OUTPUT, help="show every setting with its source"),
    _flag("debug", EVERY, Group.OUTPUT, help="show tracebacks and the measured processes' own output"),
)
# fmt: on


def _with_campaign(option: Option) -> Option:
    """An option of a step is one of the campaign, which passes it on; directories it knows itself."""
    left_out = ("screen", "root")
    own = (option.arity is not Arity.POSITIONAL or option.name == "ops") and option.name not in left_out
    taken = own and option.commands & {*STEPS}
    return replace(option, commands=option.commands | {"campaign"}) if taken else option


OPTIONS: tuple[Option, ...] = tuple(map(_with_campaign, _WHAT + _COMPARE + _HOW + _RUN + _OUTPUT))
BY_NAME: Mapping[str, Option] = {option.name: option for option in OPTIONS}

# The predecessor's variables (features R11). One that is set and not read is said aloud, never dropped.
PREDECESSOR_VARIABLES = tuple(
    """OP OP_FILE TEST_NODE SHAPE_FILE SHAPE_MODE FLAGGEMS_DIR ZL_BACKEND ZL_DEVICE REPLAY_FROM USE_FLAGTUNE
    BENCH_LEVEL ZL_ISOLATE_TUNER_CACHE ZL_DIRECT_REPEAT DTYPES PARALLEL_WARMUP_GPUS ZL_ENABLE_CUDAGRAPH
    ZL_ENABLE_AUTOTUNE ZL_ENABLE_IR ZL_ENABLE_MM_CLUSTER ZL_EXTRA_PLUGINS FLAGGEMS_PERF_COLOR OUT_DIR SWITCH
    OPS ROUNDS AB_ROOT CELL_TIMEOUT TELEMETRY_INTERVAL SWITCH_ALLOW_NO_IR_DIFF SCREEN DEVICES VERDICT
    EXTRA_OPS DRY_RUN RESCORE""".split()  # noqa: SIM905  (one name a line would be a screen of nothing)
)


def options_of(command: str) -> tuple[Option, ...]:
    """Return the options that a command takes."""
    return tuple(option for option in OPTIONS if command in option.commands)


def caliber_options() -> Mapping[str, Option]:
    """Return the options that ``[caliber.NAME]`` may set, by key."""
    return {option.key: option for option in OPTIONS if option.caliber}


def default_options() -> Mapping[str, Option]:
    """Return the options that ``[defaults]`` may set, by key."""
    return {option.key: option for option in OPTIONS if option.key}
