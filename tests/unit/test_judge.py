"""Verdicts over cell directories on the disk: each word, which of two wins, and what a verdict must never depend on."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zlbench import layout, store
from zlbench.cells import CellState
from zlbench.judge import Judgement, MachineCode, SideFacts, Verdict, judge, not_comparable, read_index

TTGIR = (
    'module attributes {{"ttg.num-warps" = 4 : i32}} {{\n  tt.func @k() {{\n    test.op{0}\n    tt.return\n  }}\n}}\n'
)


@dataclass(frozen=True, kw_only=True)
class K:
    """A kernel: what tells it from others (`block`), what was compiled (`ir`, `code`)."""

    block: int
    ir: str = "0"
    code: str | None = "c"
    name: str = "k"
    raw: str = "r"

    @property
    def id(self) -> str:
        return f"{self.name}-{self.block:016x}"

    def record(self) -> dict[str, object]:
        return {
            "kernel": self.id, "name": self.name, "constexprs": {"BLOCK": self.block}, "signature": {"x": "*fp16"},
            "specialisation": {}, "num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None,
            "hash": "h", "code": self.code, "ttgir_sha256": self.raw, "shared": 0, "compile_ms": 1.0,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Side:
    """What a cell did: its rows with the kernels that each launched, and how it ended."""

    rows: dict[str, tuple[K, ...]]
    failed: tuple[str, ...] = ()
    losers: tuple[K, ...] = ()
    state: CellState = CellState.OK
    detail: str = ""
    foreign: int = 0
    planned: int | None = None
    torn: tuple[str, ...] = field(default=())

    def build(self, folder: Path) -> Path:
        kernels = {kernel.id: kernel for row in self.rows.values() for kernel in row}
        (folder / "kernels").mkdir(parents=True)
        for kernel in (*kernels.values(), *self.losers):
            (folder / "kernels" / f"{kernel.id}.ttgir").write_text(TTGIR.format(kernel.ir))
        for name in self.torn:
            (folder / "kernels" / f"{name}.ttgir").write_text("module {")
        shapes = [*self.rows, *self.failed]
        rows = [self._row(name, shapes.index(name)) for name in self.rows]
        rows += [self._row(name, shapes.index(name), failed=True) for name in self.failed]
        count = len(shapes) if self.planned is None else self.planned
        events = [{"event": "planned", "op": "op", "dtypes": ["float16"], "shapes": [[n] for n in range(count)]}]
        events += [{"event": "foreign_cache_hit", "hash": "h"}] * self.foreign
        records = [kernel.record() for kernel in (*kernels.values(), *self.losers)]
        for name, lines in (("rows", rows), ("events", events), ("kernels", records)):
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        read = layout.CellRecords.read(folder)
        layout.lay_out(folder, read)
        outcome = layout.outcome(
            folder, read, state=self.state, returncode=0, signal=None, elapsed_s=1.0, detail=self.detail
        )
        store.write_json(folder / store.RESULT, outcome.to_json())
        return folder

    def _row(self, name: str, index: int, *, failed: bool = False) -> dict[str, object]:
        row = {"op": "op", "dtype": "float16", "shape": [index], "shape_index": index, "label": name,
               "row": f"op|float16|{name}", "origin": "upstream"}  # fmt: skip
        if failed:
            return {**row, "status": "FAILED", "failure": "OOM", "error": "out of memory", "kernels": []}
        uses = [{"kernel": kernel.id, "launches": 2, "grids": [[1, 1, 1]]} for kernel in self.rows[name]]
        return {**row, "status": "SUCCESS", "kernels": uses}


def facts(side: Side | None) -> SideFacts:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "side"
        return SideFacts.read(path if side is None else side.build(path), ())


def judged(a: Side | None, b: Side | None) -> Judgement:
    return judge(facts(a), facts(b))


ONE = Side(rows={"64": (K(block=1),), "128": (K(block=2),)})


def changed(side: Side, block: int, change: Callable[[K], K]) -> Side:
    rows = {n: tuple(change(k) if k.block == block else k for k in row) for n, row in side.rows.items()}
    return replace(side, rows=rows)


def test_equal_sides() -> None:
    found = judged(ONE, ONE)
    assert (found.verdict, found.machine_code) == (Verdict.NO_IR_DIFF, MachineCode.SAME)
    assert (found.kernels, found.ir_changed, found.code_changed) == (2, 0, 0)
    assert (found.rows_matched, found.rows_expected, found.changed_kernels) == (2, 2, ())
    assert (found.reason, found.next_step) == ("all 2 kernels equal after normalising", "control")
    assert not found.failed


def test_changed_ir_with_changed_code() -> None:
    found = judged(ONE, changed(ONE, 2, lambda k: replace(k, ir="9", code="d")))
    assert (found.verdict, found.machine_code) == (Verdict.IR_CHANGED, MachineCode.CHANGED)
    assert (found.ir_changed, found.code_changed, found.next_step) == (1, 1, "ab_repeat")
    assert found.changed_kernels == (K(block=2).id,)
    assert not found.failed


def test_changed_ir_that_ends_in_the_same_code() -> None:
    found = judged(ONE, changed(ONE, 2, lambda k: replace(k, ir="9")))
    assert (found.verdict, found.machine_code) == (Verdict.IR_CHANGED, MachineCode.SAME)
    assert found.next_step == "same code: control"


def test_equal_ir_that_ends_in_other_code() -> None:
    found = judged(ONE, changed(ONE, 1, lambda k: replace(k, code="d")))
    assert (found.verdict, found.machine_code) == (Verdict.NO_IR_DIFF, MachineCode.CHANGED)
    assert (found.code_changed, found.next_step) == (1, "code differs: ab_repeat")
    assert found.changed_kernels == (K(block=1).id,)


@pytest.mark.parametrize("side", ["A", "B", "both"])
def test_unreadable_code_is_unknown_and_not_the_same(side: str) -> None:
    blind = changed(ONE, 1, lambda k: replace(k, code=None))
    found = judged(blind if side != "B" else ONE, blind if side != "A" else ONE)
    assert (found.machine_code, found.code_changed, found.changed_kernels) == (MachineCode.UNKNOWN, 0, ())
    assert (found.verdict, found.next_step) == (Verdict.NO_IR_DIFF, "code unknown: ab_repeat")
    moved = judged(blind, changed(changed(ONE, 1, lambda k: replace(k, code=None)), 2, lambda k: replace(k, code="d")))
    assert (moved.machine_code, moved.code_changed) == (MachineCode.CHANGED, 1)


def test_a_kernel_on_one_side_only_is_a_change_and_the_others_are_none() -> None:
    # One kernel more renames every variant of its group: w4s3 becomes BLOCK1_w4s3.
    a = Side(rows={"64": (K(block=1),)})
    b = Side(rows={"64": (K(block=1), K(block=2))})
    found = judged(a, b)
    assert found.verdict is Verdict.IR_CHANGED
    assert (found.kernels, found.ir_changed, found.code_changed) == (2, 1, 1)
    assert found.changed_kernels == (K(block=2).id,)
    assert found.reason == "1 kernel differs after normalising, 1 of them on one side only"


def test_the_same_kernels_for_other_rows_are_a_change() -> None:
    a = Side(rows={"64": (K(block=1),), "128": (K(block=2),)})
    found = judged(a, Side(rows={"64": (K(block=1), K(block=2)), "128": (K(block=2),)}))
    assert (found.verdict, found.ir_changed) == (Verdict.IR_CHANGED, 0)
    assert found.reason == "the same kernels were launched for other rows"


def test_sweep_losers_do_not_count() -> None:
    found = judged(ONE, replace(ONE, losers=(K(block=3, ir="9", code="d"),)))
    assert (found.verdict, found.machine_code, found.kernels) == (Verdict.NO_IR_DIFF, MachineCode.SAME, 2)


def test_no_kernel_at_all() -> None:
    bare = Side(rows={"64": (), "128": ()})
    found = judged(bare, bare)
    assert (found.verdict, found.machine_code) == (Verdict.NO_TRITON, MachineCode.UNKNOWN)
    assert found.next_step == "nothing to compare"
    assert not found.failed
    assert judged(bare, ONE).verdict is Verdict.IR_CHANGED


def test_no_rows_says_how_each_side_ended() -> None:
    failed = Side(rows={}, failed=("64", "128"), state=CellState.OP_FAILED)
    found = judged(failed, ONE)
    assert found.verdict is Verdict.NO_ROWS
    assert found.reason == "A: all 2 rows failed, first: float16 64: OOM out of memory"
    assert (found.rows_matched, found.rows_expected, found.next_step) == (0, 2, "see run.log")
    assert found.failed
    crashed = Side(rows={}, state=CellState.CRASH, detail="signal 11", planned=2)
    assert judged(ONE, crashed).reason == "B: CRASH (signal 11)"
    assert judged(crashed, None).reason == "A: CRASH (signal 11); B: NOT_RUN"
    assert judged(crashed, crashed).reason == "A and B: CRASH (signal 11)"
    one = Side(rows={}, failed=("64",), state=CellState.OP_FAILED)
    assert judged(one, one).reason == "A and B: the only row failed: float16 64: OOM out of memory"


def test_lost_rows_win_over_the_absence_of_kernels() -> None:
    assert judged(Side(rows={}), Side(rows={})).verdict is Verdict.NO_ROWS
    assert judged(Side(rows={"64": ()}), Side(rows={"64": (), "128": ()})).verdict is Verdict.INCOMPLETE


def test_a_crashed_side_is_incomplete_and_says_what_its_kernels_show() -> None:
    a = Side(rows={"64": (K(block=1), K(block=2)), "128": (K(block=3),)})
    # The group lacks block 2, so its only variant has a shorter name than on A.
    b = Side(rows={"64": (K(block=1),)}, state=CellState.CRASH, detail="signal 11 in row 128", planned=2)
    found = judged(a, b)
    assert (found.verdict, found.next_step) == (Verdict.INCOMPLETE, "see run.log")
    assert (found.ir_changed, found.code_changed, found.machine_code) == (0, 0, MachineCode.SAME)
    assert (found.rows_matched, found.rows_expected) == (1, 2)
    assert found.reason == (
        "only 1 of 2 rows exist on both sides; B CRASH (signal 11 in row 128); "
        "of the 1 kernel on both sides 0 differ"
    )  # fmt: skip
    moved = changed(b, 1, lambda k: replace(k, ir="9"))
    assert judged(a, moved).ir_changed == 1
    assert judged(a, moved).reason.endswith("of the 1 kernel on both sides 1 differs")
    assert judged(a, moved).verdict is Verdict.INCOMPLETE


def test_a_row_that_failed_on_one_side_is_incomplete() -> None:
    b = Side(rows={"64": ONE.rows["64"]}, failed=("128",), state=CellState.OP_FAILED)
    found = judged(ONE, b)
    assert found.verdict is Verdict.INCOMPLETE
    assert "B failed float16 128: OOM out of memory" in found.reason


def test_rows_that_failed_on_both_sides_are_no_equal_ones() -> None:
    # What their kernels would have been is unknown on either side.
    side = Side(rows={"64": ONE.rows["64"]}, failed=("128",), state=CellState.OP_FAILED)
    found = judged(side, side)
    assert (found.verdict, found.ir_changed, found.machine_code) == (Verdict.INCOMPLETE, 0, MachineCode.SAME)
    assert found.reason == (
        "only 1 of 2 rows exist on both sides; A failed float16 128: OOM out of memory; "
        "of the 1 kernel on both sides 0 differ"
    )  # fmt: skip
    assert judged(side, changed(side, 1, lambda k: replace(k, ir="9"))).verdict is Verdict.INCOMPLETE


def test_rows_that_were_never_measured_on_either_side() -> None:
    side = replace(ONE, planned=4)
    found = judged(side, side)
    assert found.verdict is Verdict.INCOMPLETE
    assert "2 rows were not measured" in found.reason


@pytest.mark.parametrize("blind", ["A", "B", "both"])
@pytest.mark.parametrize("bare", [False, True])
def test_a_side_that_cannot_see_its_kernels_gets_no_verdict(blind: str, *, bare: bool) -> None:
    sides = [facts(Side(rows={"64": ()}) if bare or blind in (label, "both") else ONE) for label in "AB"]
    a, b = (
        replace(side, blind="this Triton has no knobs module") if blind in (label, "both") else side
        for label, side in zip("AB", sides, strict=True)
    )
    found = judge(a, replace(b, rows=a.rows))
    assert (found.verdict, found.ir_changed) == (Verdict.INCOMPLETE, 0)
    said = "A and B" if blind == "both" else blind
    assert found.reason == f"IR_HOOKS_MISSING {said}: this Triton has no knobs module"


def test_missing_hooks_are_known_by_the_marker_or_by_what_the_process_noted(tmp_path: Path) -> None:
    folder = ONE.build(tmp_path / "a")
    store.write_json(folder / "process.json", {"hooks": {"autotuner": False, "compilation.listener": True}})
    assert SideFacts.read(folder, ()).blind == ""
    store.write_json(folder / "process.json", {"hooks": {"launch_enter_hook": False}})
    assert SideFacts.read(folder, ()).blind == "this Triton lacks launch_enter_hook"
    result = store.read_json(folder / store.RESULT)
    store.write_json(folder / store.RESULT, {**result, "markers": ["IR_HOOKS_MISSING no knobs"]})
    assert SideFacts.read(folder, ()).blind == "no knobs"


def test_another_config_is_named_as_such() -> None:
    a, b = (replace(facts(Side(rows={"64": (K(block=block),)})), tuned=frozenset({"k"})) for block in (1, 2))
    found = judge(a, b)
    assert (found.verdict, found.kernels, found.ir_changed, found.code_changed) == (Verdict.IR_CHANGED, 2, 2, 2)
    assert found.reason.endswith("2 of them on one side only; B compiled another config than A of k")
    assert "another config" not in judge(a, replace(b, tuned=frozenset())).reason
    assert judge(a, a).verdict is Verdict.NO_IR_DIFF


def test_all_rows_and_yet_a_crash_is_incomplete() -> None:
    found = judged(ONE, replace(ONE, state=CellState.TIMEOUT, detail="ended after 9 s"))
    assert found.verdict is Verdict.INCOMPLETE
    assert "B CELL_TIMEOUT (ended after 9 s)" in found.reason


def test_a_foreign_cache_makes_equality_worthless_but_not_a_difference() -> None:
    stale = replace(ONE, foreign=2)
    found = judged(ONE, stale)
    assert (found.verdict, found.next_step) == (Verdict.CACHE_NOT_FRESH, "drop --share-cache")
    assert found.reason.startswith("2 kernels")
    assert found.failed
    assert judged(changed(ONE, 1, lambda k: replace(k, ir="9")), stale).verdict is Verdict.IR_CHANGED
    assert judged(replace(ONE, state=CellState.CRASH), stale).verdict is Verdict.INCOMPLETE


def test_a_withdrawn_verdict_keeps_its_counts() -> None:
    found = judged(ONE, changed(ONE, 1, lambda k: replace(k, ir="9")))
    withdrawn = not_comparable(found, "timer: before=a after=b")
    assert (withdrawn.verdict, withdrawn.reason) == (Verdict.NOT_COMPARABLE, "timer: before=a after=b")
    assert (withdrawn.next_step, withdrawn.ir_changed, withdrawn.failed) == ("one caliber for both", 1, True)


def test_bytes_that_normalising_takes_away_are_counted_apart() -> None:
    found = judged(ONE, changed(ONE, 1, lambda k: replace(k, raw="other")))
    assert (found.verdict, found.raw_changed, found.changed_kernels) == (Verdict.NO_IR_DIFF, 1, ())
    assert judged(ONE, ONE).raw_changed == 0


def test_torn_ir_costs_the_verdict_and_nothing_else() -> None:
    found = judged(ONE, replace(ONE, torn=(K(block=2).id,)))
    assert (found.verdict, found.machine_code) == (Verdict.INCOMPLETE, MachineCode.SAME)
    assert re.match(r"IR_UNREADABLE B: .*\.ttgir: cut off", found.reason)
    assert (found.ir_changed, found.rows_matched) == (0, 2)


def test_a_kernel_without_ir_is_not_an_equal_one(tmp_path: Path) -> None:
    folder = ONE.build(tmp_path / "a")
    for path in (folder / "ttgir" / "64").rglob("*.ttgir"):
        path.unlink()
    read = SideFacts.read(folder, ())
    found = judge(read, read)
    assert (found.verdict, found.ir_changed) == (Verdict.INCOMPLETE, 0)
    assert found.reason == f"IR_UNREADABLE A and B: no TTGIR of {K(block=1).id}"


def test_an_index_that_is_not_there_is_an_empty_one(tmp_path: Path) -> None:
    assert read_index(tmp_path / "index.tsv") == []


def test_a_quote_in_an_index_swallows_no_lines(tmp_path: Path) -> None:
    odd = Side(rows={"64": (K(block=1, name='"k'), K(block=2))})
    index = read_index(odd.build(tmp_path / "cell") / "ttgir" / "index.tsv")
    assert [kernel.name for kernel in index] == ['"k', "k"]
    assert (index[0].launches, index[0].shared, index[0].compile_ms) == (2, 0, 1.0)


kernels = st.builds(K, block=st.integers(1, 4), ir=st.sampled_from("01"), code=st.sampled_from(["c", "d", None]))


@st.composite
def sides(draw: st.DrawFn) -> Side:
    # One kernel of each block: a side compiles a variant once.
    pool = {kernel.block: kernel for kernel in draw(st.lists(kernels, min_size=1, max_size=4))}
    some = st.lists(st.sampled_from(list(pool.values())), max_size=3, unique=True).map(tuple)
    rows = draw(st.dictionaries(st.sampled_from(["64", "128", "256"]), some, max_size=3))
    state = draw(st.sampled_from([CellState.OK, CellState.OK, CellState.OP_FAILED, CellState.CRASH]))
    return Side(rows=rows, state=state, foreign=draw(st.integers(0, 1)), planned=3)


few = settings(max_examples=20, deadline=None)


@few
@given(sides(), sides())
def test_a_and_b_may_change_places(a: Side, b: Side) -> None:
    there, back = judged(a, b), judged(b, a)
    assert replace(there, reason="") == replace(back, reason="")


@few
@given(sides())
def test_a_side_never_differs_from_itself(side: Side) -> None:
    whole = replace(side, state=CellState.OK, foreign=0, rows={**side.rows, "1": (K(block=9),)}, planned=None)
    found = judged(whole, whole)
    assert (found.verdict, found.ir_changed, found.code_changed) == (Verdict.NO_IR_DIFF, 0, 0)


@few
@given(sides(), st.data())
def test_one_changed_text_is_always_a_change(side: Side, data: st.DataObject) -> None:
    whole = replace(side, state=CellState.OK, foreign=0, rows={**side.rows, "1": (K(block=9),)}, planned=None)
    block = data.draw(st.sampled_from(sorted({kernel.block for row in whole.rows.values() for kernel in row})))
    found = judged(whole, changed(whole, block, lambda k: replace(k, ir="other")))
    assert (found.verdict, found.ir_changed) == (Verdict.IR_CHANGED, 1)


@few
@given(sides(), st.data())
def test_rows_that_are_missing_on_one_side_never_pass_as_no_difference(side: Side, data: st.DataObject) -> None:
    whole = replace(side, state=CellState.OK, foreign=0, rows={**side.rows, "1": (K(block=9),)}, planned=None)
    kept = data.draw(st.sets(st.sampled_from(sorted(whole.rows)), max_size=len(whole.rows) - 1))
    part = replace(whole, rows={name: row for name, row in whole.rows.items() if name in kept})
    assert judged(whole, part).verdict in (Verdict.INCOMPLETE, Verdict.NO_ROWS)
    assert judged(part, whole).failed


# A kernel that B tuned anew instead of replaying A's choice.

MISS = {"module": "m", "key": [1], "outcome": "miss", "swept": 6}


def judged_with(b: Side, *missed: tuple[str, str], folder: Path) -> Judgement:
    (folder / "A").mkdir(parents=True)
    lines = [{**MISS, "kernel": kernel, "reason": reason} for kernel, reason in missed]
    side = b.build(folder / "B")
    (side / "autotune_records").mkdir()
    (side / "autotune_records" / "meta.json").write_text('{"mode": "replay"}')
    (side / "autotune_records" / "replay.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return judge(facts(ONE), SideFacts.read(side, ()))


OTHER_CONFIG = changed(ONE, 2, lambda kernel: replace(kernel, block=3))


@pytest.mark.parametrize(
    "reason", ["key_missing", "config_unknown", "tune_all_failed", "swept", "key_missing_no_evict"]
)
def test_another_choice_is_no_change_of_the_compiler(reason: str, tmp_path: Path) -> None:
    found = judged_with(OTHER_CONFIG, ("k", reason), folder=tmp_path)
    assert (found.verdict, found.replay_fallbacks) == (Verdict.INCOMPLETE, 1)
    assert f"AUTOTUNE_REPLAY_FALLBACK k ({reason} 1) tuned anew" in found.reason
    other_rows = Side(rows={"64": (K(block=1), K(block=2)), "128": (K(block=2),)})
    assert judged_with(other_rows, ("k", reason), folder=tmp_path / "rows").verdict is Verdict.INCOMPLETE


@pytest.mark.parametrize("reason", ["compile_failed", "compile_failed_no_evict"])
def test_a_config_that_the_compiler_refuses_is_a_change(reason: str, tmp_path: Path) -> None:
    found = judged_with(OTHER_CONFIG, ("k", reason), folder=tmp_path)
    assert (found.verdict, found.replay_fallbacks) == (Verdict.IR_CHANGED, 1)
    assert "the config of k was not replayed but tuned anew" in found.reason


def test_a_kernel_that_was_replayed_and_differs_is_a_change_beside_one_that_was_not(tmp_path: Path) -> None:
    found = judged_with(OTHER_CONFIG, ("other", "key_missing"), folder=tmp_path)
    assert (found.verdict, found.replay_fallbacks) == (Verdict.IR_CHANGED, 1)
    equal = judged_with(ONE, ("k", "key_missing"), folder=tmp_path / "equal")
    assert (equal.verdict, equal.replay_fallbacks) == (Verdict.NO_IR_DIFF, 1)
