"""What a run directory says of autotune choices, and what the guard makes of it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench import guard, tuning
from zlbench.caliber import Caliber
from zlbench.errors import PreflightError
from zlbench.guard import Severity
from zlbench.identity import RunIdentity, parse_identity
from zlbench.measure.ambient import ambient

RECORD = {
    "tuner": "triton", "kernel": "mm_kernel", "module": "ops.mm", "key": [64, "torch.float16"],
    "config": {"kwargs": {"BLOCK": 64}, "num_warps": 4}, "pre_hook": False, "configs": 6, "swept": 6, "timings": {},
    "ties": 0, "all_failed": False, "source": "sweep", "row": "mm|float16|1",
}  # fmt: skip


def write(run: Path, mode: str, lines: list[dict[str, Any]], **meta: Any) -> Path:
    (run / tuning.FOLDER).mkdir(parents=True)
    file = tuning.REPLAY if mode == "replay" else tuning.RECORDS
    (run / file).write_text("".join(json.dumps(line) + "\n" for line in lines))
    (run / tuning.META).write_text(
        json.dumps({"mode": mode, "op": "mm", "backend": "cuda", "suite": "flag_gems", **meta})
    )
    return run


def miss(kernel: str, key: int, reason: str, row: str = "r") -> dict[str, Any]:
    return {"kernel": kernel, "module": "m", "key": [key], "outcome": "miss", "reason": reason, "swept": 6, "row": row}


def hit(kernel: str, key: int, row: str = "r") -> dict[str, Any]:
    return {**miss(kernel, key, "", row), "outcome": "hit", "swept": 0}


def test_choices_are_counted_once_however_many_rows_they_serve(tmp_path: Path) -> None:
    lines = [hit("a", 1), hit("a", 1, "r2"), hit("a", 2)]
    lines += [miss("b", 1, "key_missing"), miss("b", 1, "key_missing", "r2"), miss("b", 2, "compile_failed")]
    choices = tuning.read_choices(write(tmp_path, "replay", lines))
    assert (choices.made, choices.missed) == ({"a": 2}, 2)
    assert tuning.choice_lines(choices) == ["replayed 2 of 4 autotune choices: a 2"]
    assert tuning.markers(tmp_path) == [
        "AUTOTUNE_REPLAY_FALLBACK 2 of 4 choices tuned anew: b (compile_failed 1, key_missing 1)"
    ]
    assert choices.fallbacks == {"b": {"compile_failed": 1, "key_missing": 1}}


def test_a_run_without_tuned_kernels_says_nothing(tmp_path: Path) -> None:
    for number, mode in enumerate(("record", "replay")):
        run = write(tmp_path / str(number), mode, [])
        assert (tuning.choice_lines(tuning.read_choices(run)), tuning.markers(run)) == ([], [])
    assert tuning.markers(tmp_path / "nowhere") == []
    assert tuning.source_digest(tmp_path / "nowhere") is None


def test_a_record_says_what_it_holds(tmp_path: Path) -> None:
    other = {**RECORD, "key": [128, "torch.float16"], "all_failed": True}
    single = {**RECORD, "key": None, "source": "single", "swept": 0}
    choices = tuning.read_choices(
        write(tmp_path, "record", [RECORD, {**RECORD, "row": "r2", "swept": 0}, other, single])
    )
    assert tuning.choice_lines(choices) == ["recorded 2 autotune choices: mm_kernel 2; 12 configs timed"]
    assert tuning.markers(tmp_path) == ["TUNE_ALL_FAILED 1 kernel: mm_kernel"]


def test_a_winner_of_another_compiler_is_named_and_ones_own_is_not(tmp_path: Path) -> None:
    build = {"name": "x", "version": "3.6.0", "native_sha256": "a" * 64, "python_sha256": "b" * 64}
    own = tuning.compiler_text(build)
    assert own == "x (triton 3.6.0, libtriton aaaaaaaa, python bbbbbbbb)"
    other = tuning.compiler_text({**build, "native_sha256": "c" * 64})
    lines = [{**RECORD, "source": "database", "writer": writer, "key": [number]}
             for number, writer in enumerate((own, own.replace("x", "renamed", 1), other, None))]  # fmt: skip
    run = write(tmp_path, "record", lines, compiler=own)
    assert [writer for _, writer in tuning.read_choices(run).foreign] == [tuning.UNKNOWN_WRITER, other]
    assert f"TUNER_CACHE_SHARED 1 kernel with winners of {other}: mm_kernel" in tuning.markers(run)


@given(st.permutations([{**RECORD, "key": [number]} for number in range(4)]), st.text(), st.floats(0, 9))
def test_the_digest_is_of_the_choices_alone(records: list[dict[str, Any]], row: str, time: float) -> None:
    plain = tuning.digest([{**RECORD, "key": [number]} for number in range(4)])
    assert tuning.digest([{**record, "row": row, "timings": {"c": time}} for record in records]) == plain
    assert tuning.digest(records[1:]) != plain


def test_whose_record_a_replay_replays(tmp_path: Path) -> None:
    a = write(tmp_path / "a", "record", [RECORD])
    b = write(tmp_path / "b", "replay", [], source_digest=tuning.digest([RECORD]))
    assert tuning.source_digest(a) == tuning.source_digest(b)


def test_a_record_is_found_where_it_is_named_or_below_a_screen(tmp_path: Path) -> None:
    cell = write(tmp_path / "screen" / "mm" / "A", "record", [RECORD])
    run = write(tmp_path / "softmax_1", "record", [RECORD], op="softmax")
    given = [tmp_path / "screen", run]
    assert [tuning.sources_of(given, op) for op in ("mm", "softmax", "sort")] == [[cell], [run], []]
    assert tuning.sources_of([cell, cell], "mm") == [cell]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["mm_1"], "no record of sort is named: .*mm_1 is a record of mm"),
        (["mm_1", "screen"], "holds no record|is a record of mm"),
        (["empty"], "empty holds no record of autotune choices of sort"),
        (["sort_1", "sort_2"], "sort has 2 records: "),
        (["sort_1", "gone"], "gone is not a directory"),
    ],
)
def test_it_must_be_clear_which_record_an_operator_replays(tmp_path: Path, names: list[str], said: str) -> None:
    for name in ("mm_1", "sort_1", "sort_2"):
        write(tmp_path / name, "record", [RECORD], op=name.partition("_")[0])
    write(tmp_path / "screen" / "mm" / "A", "record", [RECORD])
    (tmp_path / "empty").mkdir()
    with pytest.raises(PreflightError, match=said):
        tuning.check_source([tmp_path / name for name in names], op="sort", backend="cuda", suite="flag_gems")


def test_a_replay_of_nothing_has_a_word_of_its_own(tmp_path: Path) -> None:
    run = write(tmp_path / "none", "replay", [miss("a", 1, "key_missing"), miss("a", 2, "key_missing")])
    assert tuning.markers(run)[0] == "REPLAYED_NOTHING none of 2 choices: every kernel was tuned anew"
    some = write(tmp_path / "some", "replay", [miss("a", 1, "key_missing"), hit("a", 2)])
    assert not [text for text in tuning.markers(some) if text.startswith("REPLAYED_NOTHING")]


@pytest.mark.parametrize(
    ("backend", "suite", "said"),
    [("musa", "flag_gems", "recorded with backend cuda"), ("cuda", "flaggems_vllm", "recorded with suite flag_gems")],
)
def test_a_record_from_elsewhere_is_refused(tmp_path: Path, backend: str, suite: str, said: str) -> None:
    run = write(tmp_path, "record", [RECORD])
    tuning.check_source([run], op="mm", backend="cuda", suite="flag_gems")
    with pytest.raises(PreflightError, match=said) as caught:
        tuning.check_source([run], op="mm", backend=backend, suite=suite)
    assert caught.value.check == "replay-source"


def test_a_replay_is_not_replayed_and_its_source_is_named(tmp_path: Path) -> None:
    run = write(tmp_path, "replay", [], source="/runs/mm_1")
    with pytest.raises(PreflightError, match="is itself a replay") as caught:
        tuning.check_source([run], op="mm", backend="cuda", suite="flag_gems")
    assert "--replay-from /runs/mm_1" in caught.value.hint


def test_winners_are_counted_and_times_are_not(tmp_path: Path) -> None:
    path = tmp_path / "TunedConfig_nvidia_triton_3_6.db"
    rows = {
        "mm_kernel_0123456789abcdef_benchmark_0123456789ab-0123456789abcdef0123456789abcdef": 3,
        "mv_kernel_0123456789abcdef-0123456789abcdef0123456789abcdef": 2,
        "mm_kernel_0123456789abcdef_benchmark_v2-0123456789abcdef0123456789abcdef": 50,
        "old_kernel_0123456789abcdef_benchmark-0123456789abcdef0123456789abcdef": 70,
    }
    with sqlite3.connect(path) as connection:
        for table, count in rows.items():
            connection.execute(f'CREATE TABLE "{table}" (key_0)')
            connection.executemany(f'INSERT INTO "{table}" VALUES (?)', [(number,) for number in range(count)])
    connection.close()
    assert tuning.count_entries([path]) == 5
    assert tuning.count_entries([]) == 0
    path.write_bytes(b"no database at all" * 100)
    assert tuning.count_entries([path]) is None


def test_where_winners_are_kept() -> None:
    assert tuning.tuner_cache({"FLAGGEMS_CACHE_DIR": "/c", "HOME": "/h"}) == Path("/c")
    assert tuning.tuner_cache({"HOME": "/h"}) == Path("/h/.flaggems")
    assert tuning.tuner_databases({"FLAGGEMS_DB_URL": "sqlite:////d/x.db"}) == [Path("/d/x.db")]
    assert tuning.tuner_databases({"FLAGGEMS_DB_URL": "postgresql://host/x"}) == []


def test_writers_are_remembered_by_table_and_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for compiler, key in (("x", [1]), ("y", [1]), ("y", [2])):
        monkeypatch.setenv(tuning.COMPILER_VARIABLE, compiler)
        tuning.Writers(tmp_path).wrote("mm", key)
    found = tuning.Writers(tmp_path)
    # The first, since a stored winner stays.
    assert [found.of("mm", [1]), found.of("mm", [2]), found.of("mm", [3])] == ["x", "y", tuning.UNKNOWN_WRITER]
    assert found.of_times("mm") == "x and y"
    assert tuning.Writers(None).of("mm", [1]) == tuning.UNKNOWN_WRITER


# --- the guard -------------------------------------------------------------------------------------------------------


def complaints(before: dict[str, Any], after: dict[str, Any], **facts: Any) -> list[tuple[str, str, Severity]]:
    identities = [
        RunIdentity(op="mm", side=side, caliber=Caliber(**caliber), **(facts if side == "A" else {}))
        for side, caliber in (("A", before), ("B", after))
    ]
    return [(one.field, one.marker, one.severity) for one in guard.complaints(*identities, None)]


def record(source: str = "d1", cache: str = "isolated") -> dict[str, Any]:
    return {"autotune_mode": "record", "autotune_source": source, "tuner_cache": cache}


def replay(source: str = "d1") -> dict[str, Any]:
    return {"autotune_mode": "replay", "autotune_source": source, "tuner_cache": "isolated"}


OFF = {"autotune_mode": "off", "tuner_cache": "isolated"}


@pytest.mark.parametrize(("before", "after"), [(record(), record()), (OFF, OFF), (OFF, record()), (record(), OFF)])
def test_two_sides_that_chose_for_themselves_are_refused(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert complaints(before, after) == [("autotune_mode", "RECORD_VS_RECORD", Severity.REFUSE)]


def test_a_replay_of_a_is_right_and_one_of_another_record_is_not() -> None:
    assert complaints(record(), replay()) == []
    assert complaints(replay(), replay()) == []
    for before in (record(), replay()):
        assert complaints(before, replay("d2")) == [("autotune_source", "", Severity.REFUSE)]
    assert complaints(OFF, replay()) == [("autotune_mode", "", Severity.REFUSE)]


def test_a_shared_cache_is_a_warning_and_the_winners_of_another_compiler_a_refusal() -> None:
    before, after = record(cache="shared"), {**replay(), "tuner_cache": "shared"}
    assert complaints(before, after) == [("tuner_cache", "TUNER_CACHE_SHARED", Severity.WARN)]
    assert complaints(before, after, tuner_foreign=("y (…)",)) == [
        ("tuner_cache", "TUNER_CACHE_SHARED", Severity.REFUSE)
    ]


def test_whose_winners_they_were_survives_the_file() -> None:
    written = RunIdentity(op="mm", side="A", caliber=Caliber(), tuner_foreign=("y (…)",), tuner_entries_before=3)
    read = parse_identity(written.to_json())
    assert read is not None
    assert (read.tuner_foreign, read.tuner_entries_before) == (("y (…)",), 3)


def test_a_database_elsewhere_reaches_no_side_that_has_a_cache_of_its_own() -> None:
    env = {"FLAGGEMS_DB_URL": "sqlite:////d/x.db", "USE_FLAGTUNE_COST_MODEL": "0", "FLAGTREE_AABS": "1"}
    assert ambient(env, ()) == ("FLAGTREE_AABS=1", "USE_FLAGTUNE_COST_MODEL=0")
    assert "FLAGGEMS_DB_URL=sqlite:////d/x.db" in ambient(env, (), isolated=False)
