"""The guard: every field of the caliber is compared, every mismatch named, the axis is no complaint."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.axis import Axis, make_axis, parse_switches
from zlbench.caliber import COMPARED, FIELDS, SCREEN_COLUMNS, Caliber, column_text, main, markdown
from zlbench.errors import ExitCode, NotComparableError
from zlbench.guard import Complaint, Severity, complaints, refuse
from zlbench.identity import RunIdentity, parse_identity, read_identity

if TYPE_CHECKING:
    from pathlib import Path

BASE = Caliber(
    backend="compile",
    device="cuda:90",
    timer="compile",
    bench_level="core",
    shape_mode="upstream",
    tuner_cache="isolated",
    direct_repeat=1,
    configs="first",
    dtypes=("float16",),
    shapes_hash="abc",
    mode="kernel",
    autotune_mode="policy",
    use_flagtune=False,
    suite="builtin",
    suite_hash="1234",
    torch="2.13.0",
    python="3.11.7",
    seeds="1",
    plugins="ff",
)
BUILD_A = {"version": "3.6.0", "native_sha256": "a", "python_sha256": "b", "tools_sha256": "c"}
BUILD_B = {**BUILD_A, "native_sha256": "z"}
RELEASES = make_axis(name="releases", a="x", b="y")
SWITCH = make_axis(name="s", a="x", b="x", switches=parse_switches(["S=unset,1"]))
NULL = make_axis(name="n", a="x", b="y", null_test=True)


def identity(side: str = "A", caliber: Caliber = BASE, **rest: Any) -> RunIdentity:
    return RunIdentity(op="mm", side=side, caliber=caliber, **{"build": BUILD_A, **rest})


def found(before: RunIdentity | None, after: RunIdentity | None, axis: Axis | None = RELEASES) -> list[Complaint]:
    return complaints(before, after, axis, op="mm")


def changed(caliber: Caliber, name: str) -> Caliber:
    """Change one field to another value of its own type."""
    value = getattr(caliber, name)
    other: Any = "other"
    if isinstance(value, bool):
        other = not value
    elif isinstance(value, int):
        other = value + 1
    elif isinstance(value, tuple):
        other = (*value, "other")
    return dataclasses.replace(caliber, **{name: other})


def test_equal_identities_are_comparable() -> None:
    assert found(identity("A"), identity("B")) == []
    assert refuse([]) == ()


@pytest.mark.parametrize("name", COMPARED)
def test_a_mismatch_in_any_one_field_is_found_and_named(name: str) -> None:
    (complaint,) = found(identity("A"), identity("B", changed(BASE, name)))
    assert complaint.field == name
    assert complaint.severity is Severity.REFUSE
    assert str(complaint).startswith(f"[caliber] mm: {name}: before=")


@pytest.mark.parametrize("name", COMPARED)
def test_unset_against_a_value_is_a_mismatch(name: str) -> None:
    before = dataclasses.replace(BASE, **{name: None})
    (complaint,) = found(identity("A", before), identity("B", changed(before, name)))
    assert (complaint.field, complaint.before) == (name, "unset")


@given(st.sets(st.sampled_from(COMPARED)))
def test_exactly_the_fields_that_differ_are_named(names: set[str]) -> None:
    after = BASE
    for name in names:
        after = changed(after, name)
    assert {complaint.field for complaint in found(identity("A"), identity("B", after))} == names


def test_the_picture_of_the_ux_page() -> None:
    before = dataclasses.replace(BASE, timer="cuda_graph")
    after = dataclasses.replace(BASE, timer="direct", bench_level="comprehensive")
    with pytest.raises(NotComparableError) as caught:
        refuse(found(identity("A", before), identity("B", after)))
    assert caught.value.message.splitlines() == [
        "[caliber] mm: timer: before=cuda_graph after=direct",
        "[caliber] mm: bench_level: before=core after=comprehensive",
    ]
    assert caught.value.hint.startswith("Not compared: these two runs answer different questions.")
    assert caught.value.code is ExitCode.NOT_COMPARABLE


def test_another_operator_is_named() -> None:
    (complaint,) = found(identity("A"), dataclasses.replace(identity("B"), op="fft"))
    assert str(complaint) == "[caliber] mm: op: before=mm after=fft"


def test_a_mismatch_that_is_allowed_stays_on_top() -> None:
    listed = found(identity("A"), identity("B", changed(BASE, "timer")))
    assert refuse(listed, allow=True) == ("[caliber] mm: timer: before=compile after=other",)


@pytest.mark.parametrize(("before", "after"), [(None, identity()), (identity(), None), (None, None)])
def test_a_missing_identity_is_refused(before: RunIdentity | None, after: RunIdentity | None) -> None:
    (complaint,) = found(before, after)
    assert complaint.field == "run_identity.json"
    with pytest.raises(NotComparableError, match="missing"):
        refuse([complaint])


@pytest.mark.parametrize(
    ("axis", "build", "fields"),
    [
        (RELEASES, BUILD_B, []),
        (SWITCH, BUILD_B, ["build.native_sha256"]),
        (NULL, BUILD_B, ["build.native_sha256"]),
        (SWITCH, BUILD_A, []),
        (None, BUILD_B, []),
    ],
)
def test_a_build_may_differ_only_along_the_axis(axis: Axis | None, build: Any, fields: list[str]) -> None:
    assert [c.field for c in found(identity("A"), identity("B", build=build), axis)] == fields


def test_declared_switches_may_differ_and_others_may_not() -> None:
    before = identity("A", switches={"S": None, "T": "1"})
    after = identity("B", switches={"S": "1", "T": "2"})
    (complaint,) = found(before, after, SWITCH)
    assert (complaint.field, complaint.before, complaint.after) == ("switch T", "1", "2")


@pytest.mark.parametrize(
    ("modes", "marker", "count"),
    [
        (("record", "record"), "RECORD_VS_RECORD", 1),
        (("record", "replay"), "", 0),
        (("policy", "policy"), "", 0),
        (("replay", "record"), "", 1),
        (("policy", "record"), "", 1),
        ((None, None), "", 0),
    ],
)
def test_autotune_modes(modes: tuple[str | None, str | None], marker: str, count: int) -> None:
    sides = [identity(s, dataclasses.replace(BASE, autotune_mode=m)) for s, m in zip("AB", modes, strict=True)]
    listed = found(*sides)
    assert [complaint.marker for complaint in listed] == [marker] * count


@pytest.mark.parametrize(("counts", "refused"), [((0, 0), 0), ((0, 1), 1), ((0, None), 1), ((None, None), 1)])
def test_two_records_of_nothing_are_comparable(counts: tuple[int | None, int | None], refused: int) -> None:
    caliber = dataclasses.replace(BASE, autotune_mode="record")
    sides = [identity(s, caliber, tuner_choices=count) for s, count in zip("AB", counts, strict=True)]
    assert len(found(*sides)) == refused


def test_two_replays_of_different_records_are_refused() -> None:
    sides = [
        identity(s, dataclasses.replace(BASE, autotune_mode="replay", autotune_source=source))
        for s, source in (("A", "1"), ("B", "2"))
    ]
    assert [complaint.field for complaint in found(*sides)] == ["autotune_source"]


def test_recording_on_a_shared_tuner_cache_is_a_warning() -> None:
    shared = dataclasses.replace(BASE, tuner_cache="shared", autotune_mode="record")
    listed = found(identity("A", shared), identity("B", dataclasses.replace(shared, autotune_mode="replay")))
    assert [(c.marker, c.severity) for c in listed] == [("TUNER_CACHE_SHARED", Severity.WARN)]
    (line,) = refuse(listed)
    assert line.startswith("[caliber] warning mm: tuner_cache:")


CARD = {"device_uuid": "GPU-1", "card_settings": {"power_limit_w": 700.0, "sm_clock_max_mhz": 1980.0}}


@pytest.mark.parametrize(
    ("other", "field"),
    [
        ({"device_uuid": "GPU-2"}, "device_uuid"),
        ({"card_settings": {"power_limit_w": 350.0, "sm_clock_max_mhz": 1980.0}}, "card power_limit_w"),
    ],
)
def test_another_card_or_other_clocks_forbid_times_alone(other: dict[str, Any], field: str) -> None:
    (complaint,) = found(identity("A", **CARD), identity("B", **{**CARD, **other}))
    assert (complaint.field, complaint.severity, complaint.times_only) == (field, Severity.REFUSE, True)
    with pytest.raises(NotComparableError):
        refuse([complaint])


def test_another_vendors_kernels_are_refused() -> None:
    (complaint,) = found(identity("A", vendor="nvidia"), identity("B", vendor="metax"))
    assert (complaint.field, complaint.severity) == ("vendor", Severity.REFUSE)
    assert found(identity("A", vendor="nvidia"), identity("B")) == []


def test_one_card_in_two_spellings_and_a_machine_without_one_are_no_complaint() -> None:
    assert found(identity("A", **CARD), identity("B", **{**CARD, "device_uuid": "gpu-1"})) == []
    assert found(identity("A"), identity("B")) == []


@pytest.mark.parametrize("unknown", [{"device_uuid": None}, {"card_settings": {}}])
def test_a_card_that_one_side_alone_knows_is_a_warning(unknown: dict[str, Any]) -> None:
    (complaint,) = found(identity("A", **CARD), identity("B", **{**CARD, **unknown}))
    assert (complaint.field, complaint.severity) == ("card", Severity.WARN)


# ---- the identity file


def test_an_identity_reads_back_equal(tmp_path: Path) -> None:
    written = identity("B", switches={"S": None, "T": "0"}, hooks={"listener": True}, plugin_names=("a", "b"))
    written.write(tmp_path)
    assert read_identity(tmp_path) == written
    assert [path.name for path in tmp_path.iterdir()] == ["run_identity.json"]


def test_the_file_is_flat_and_keeps_the_predecessors_keys() -> None:
    data = json.loads(identity().to_json())
    assert {
        "provider", "backend", "device", "timer", "vendor", "bench_level", "shape_mode", "tuner_cache",
        "direct_repeat", "autotune_mode", "dtypes", "use_flagtune", "switches", "build", "device_uuid",
        "driver",
    } <= set(data)  # fmt: skip
    assert data["suite_commit"] is None


@pytest.mark.parametrize("name", COMPARED)
def test_a_key_that_is_missing_on_one_side_or_both_is_no_agreement(name: str) -> None:
    data = json.loads(identity().to_json())
    del data[name]
    torn = parse_identity(json.dumps(data))
    assert torn is not None
    assert torn.problems == (f"missing key {name}",)
    for other in (identity("B"), torn):
        (complaint,) = found(torn, other)
        assert (complaint.field, complaint.before) == (name, "missing")


def test_unknown_keys_and_versions_are_reported() -> None:
    data = {**json.loads(identity().to_json()), "schema_version": 99, "weather": "rain"}
    read = parse_identity(json.dumps(data))
    assert read is not None
    assert read.problems == ("schema version 99, this zlbench reads 1", "unknown key weather")
    assert [complaint.field for complaint in found(identity(), read)] == ["schema_version"]


KEYS = [*FIELDS, "device_uuid", "card_settings", "build", "switches", "hooks", "op"]


@given(st.one_of(st.text(), st.recursive(
    st.one_of(st.none(), st.booleans(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.sampled_from(KEYS), inner)),
).map(json.dumps)))  # fmt: skip
def test_reading_an_identity_never_fails(text: str) -> None:
    read = parse_identity(text)
    if read is not None:
        complaints(read, identity("B"), SWITCH)


def test_an_unreadable_file_is_a_missing_identity(tmp_path: Path) -> None:
    assert read_identity(tmp_path) is None
    (tmp_path / "run_identity.json").write_bytes(b"\xff")
    assert read_identity(tmp_path) is None


# ---- the one definition


def test_the_predecessors_columns_come_first_and_in_order() -> None:
    assert SCREEN_COLUMNS[:7] == (
        "backend", "device", "timer", "bench_level", "shape_mode", "tuner_cache", "direct_repeat",
    )  # fmt: skip
    columns = BASE.columns()
    assert tuple(columns) == SCREEN_COLUMNS
    assert columns["dtypes_asked"] == "float16"
    assert Caliber().columns()["device"] == "unset"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "unset"), ((), "unset"), (("a", "b"), "a,b"), (True, "1"), (False, "0"), (3, "3")],
)
def test_column_text(value: object, text: str) -> None:
    assert column_text(value) == text


def test_the_table_for_the_docs_has_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == markdown().splitlines()
    assert [line.split("`")[1] for line in lines[2:]] == list(FIELDS)
    assert all(len([cell for cell in line.split("|") if cell.strip()]) == 4 for line in lines[2:])
