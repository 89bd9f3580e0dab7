"""The caliber: every condition that changes what a number means, defined here and nowhere else.

Its fields make the identity file, the guard's comparison, the columns of screen.tsv and the table in the docs
(``python -m zlbench.caliber --markdown``).
"""

from __future__ import annotations

import argparse
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from zlbench.axis import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def _condition(doc: str, effect: str, fixed_by: str, *, column: str = "", compared: bool = True) -> Any:
    """Declare one condition.

    Args:
        doc: what it is.
        effect: what a change does to the numbers.
        fixed_by: who sets it.
        column: its column in screen.tsv, "" for none.
        compared: whether the guard refuses sides that differ in it.
    """
    return field(
        default=None,
        metadata={"doc": doc, "effect": effect, "fixed_by": fixed_by, "column": column, "compared": compared},
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Caliber:
    """What must agree between two sides before their numbers may stand in one table. None means unset."""

    # The predecessor's seven columns come first and in its order: scripts read them by position.
    backend: str | None = _condition(
        "device family, or compile for none",
        "another machine altogether; compile never has a latency",
        "--backend, ZL_BACKEND",
        column="backend",
    )
    device: str | None = _condition(
        "name of the card, or the compile target such as cuda:90",
        "another architecture has other code and other times",
        "--target, --device, ZL_DEVICE",
        column="device",
    )
    timer: str | None = _condition(
        "cuda_graph, direct or compile",
        "a direct time holds launch overhead: up to +510 % on one row, +43 % became +124.5 % on an operator",
        "backend",
        column="timer",
    )
    bench_level: str | None = _condition(
        "core or comprehensive: how many shapes",
        "mm has 5 shapes or 29; whether large matrices are covered hangs on it",
        "--level, BENCH_LEVEL",
        column="bench_level",
    )
    shape_mode: str | None = _condition(
        "where shapes come from: inline, file or upstream",
        "other shapes, another question",
        "--shapes, --shape-file",
        column="shape_mode",
    )
    tuner_cache: str | None = _condition(
        "isolated or shared cache of libtuner's winners",
        "shared: B inherits A's winners; mm fell from 945 variants to 33",
        "--isolate-tuner-cache, ZL_ISOLATE_TUNER_CACHE",
        column="tuner_cache",
    )
    direct_repeat: int | None = _condition(
        "calls whose median is taken on the direct path",
        "one call hides drift between calls",
        "--direct-repeat, ZL_DIRECT_REPEAT",
        column="direct_repeat",
    )
    configs: str | None = _condition(
        "configs of an autotuned kernel that are compiled with no device: first, all, K",
        "other configs are other kernels",
        "--configs",
        column="configs",
    )
    dtypes: tuple[str, ...] | None = _condition(
        "data types asked for; unset is the operator's own set", "other kernels", "--dtypes, DTYPES",
        column="dtypes_asked",
    )  # fmt: skip
    shapes_hash: str | None = _condition(
        "digest of the shapes that ran", "another file is another question", "--shape-file",
        column="shapes_hash",
    )  # fmt: skip
    mode: str | None = _condition(
        "the suite's --mode", "times of operator and wrapper hold host work", "--mode",
        column="mode",
    )  # fmt: skip
    l2: str | None = _condition(
        "warm or flushed second-level cache before each timed call",
        "softmax 23.0 µs warm, 25.3 µs cold",
        "--l2",
        column="l2",
    )
    baseline: str | None = _condition(
        "rows whose Torch baseline was timed between: all, canary or none",
        "what ran before a row warms or cools the card",
        "--baseline",
    )
    quick: bool | None = _condition(
        "one shape and one dtype an operator: a first look",
        "what the other shapes and dtypes compile to is not looked at",
        "--quick",
        column="quick",
    )
    warmup_ms: int | None = _condition("warm-up budget", "too little leaves autotuning in the first rows", "--warmup")
    rep_ms: int | None = _condition("repetition budget", "fewer repetitions, wider spread", "--iter")
    autotune_mode: str | None = _condition(
        "record, replay, off, or policy where --configs decides",
        "two records pick different configs: router_gemm moved by 8 percentage points",
        "--configs, REPLAY_FROM",
        compared=False,
    )
    autotune_source: str | None = _condition(
        "digest of the choices that were recorded, or of the record that is replayed",
        "another record, other configs",
        "REPLAY_FROM",
        compared=False,
    )
    use_flagtune: bool | None = _condition(
        "FlagTune's larger space of configs",
        "another space has other winners",
        "--use-flagtune, USE_FLAGTUNE",
    )
    flagtree_aabs: str | None = _condition(
        "FLAGTREE_AABS, FlagTree's rewriting of block sizes (on by default there)",
        "winners outside the declared configs",
        "environment",
    )
    environment: tuple[str, ...] | None = _condition(
        "variables of the caller that a compiler or suite may read", "other passes, another assembler", "environment"
    )
    suite: str | None = _condition("provider of the benchmarks", "other benchmarks", "--suite, FLAGGEMS_DIR")
    suite_commit: str | None = _condition("commit of the suite", "other kernels in the same file", "checkout")
    suite_dirty: bool | None = _condition("uncommitted changes in the suite", "kernels nobody can look up", "checkout")
    suite_hash: str | None = _condition("digest of the suite's files", "other kernels at the same commit", "checkout")
    torch: str | None = _condition("version of torch", "other inputs, other allocator, other baseline", "build")
    python: str | None = _condition("version of Python", "other host overhead; columns of source locations", "build")
    driver: str | None = _condition("version of the device driver", "other clocks, other launch cost", "machine")
    seeds: str | None = _condition(
        "seeds of random, numpy and torch", "data-dependent operators do other work", "zlbench"
    )
    plugins: str | None = _condition(
        "digest of the plugins in force and of their code, zlbench's own included", "another way to measure",
        "--extra-plugins, version of zlbench",
    )  # fmt: skip

    def items(self) -> list[tuple[str, object]]:
        """Return names and values in order."""
        return [(condition.name, getattr(self, condition.name)) for condition in fields(self)]

    def columns(self) -> dict[str, str]:
        """Return the caliber columns of screen.tsv with this caliber's values."""
        return {
            condition.metadata["column"]: column_text(getattr(self, condition.name))
            for condition in fields(self)
            if condition.metadata["column"]
        }

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> Caliber:
        """Make a caliber from an identity file's keys; lists become tuples, other keys are left out."""
        given: dict[str, Any] = {name: data[name] for name in FIELDS if name in data}
        typed: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in given.items()}
        return cls(**typed)


FIELDS: Mapping[str, Field[Any]] = {condition.name: condition for condition in fields(Caliber)}
COMPARED: tuple[str, ...] = tuple(name for name, condition in FIELDS.items() if condition.metadata["compared"])
SCREEN_COLUMNS: tuple[str, ...] = tuple(
    condition.metadata["column"] for condition in FIELDS.values() if condition.metadata["column"]
)
assert all(condition.default is not MISSING for condition in FIELDS.values())


def column_text(value: object) -> str:
    """Print a value in a table: None is ``unset``, a tuple its items with commas, true and false 1 and 0."""
    if isinstance(value, tuple):
        return ",".join(str(item) for item in value) or "unset"
    if isinstance(value, bool):
        return "1" if value else "0"
    return shown(value)


def markdown() -> str:
    """Return the table for README and docs."""
    head = ["| condition | what it is | what a change does | set by |", "|---|---|---|---|"]
    lines = [
        f"| `{name}` | {declared['doc']} | {declared['effect']} | {declared['fixed_by']} |"
        for name, declared in ((name, condition.metadata) for name, condition in FIELDS.items())
    ]
    return "\n".join(head + lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; it is how the docs are made."""
    parser = argparse.ArgumentParser(prog="python -m zlbench.caliber", description="Print the table of conditions.")
    parser.add_argument("--markdown", action="store_true", required=True)
    parser.parse_args(argv)
    print(markdown())  # noqa: T201
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
