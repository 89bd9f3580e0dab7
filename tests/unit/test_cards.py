"""Cards of a machine: presence by file, choice, users, and tools that are absent, broken or hang."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.smi import asked, make_tool
from hypothesis import given
from hypothesis import strategies as st

from zlbench import backend as backends
from zlbench import cards, proctree
from zlbench.builds.spec import Build, BuildKind
from zlbench.errors import UsageError
from zlbench.measure.backend_choice import choose
from zlbench.measure.prepare import with_vendor
from zlbench.smi import CardFacts, CardProcess, Query

CUDA, MUSA, ROCM = backends.get("cuda"), backends.get("musa"), backends.get("rocm")
NVIDIA = {"compute-apps": "cuda_processes.csv", "driver_version": "cuda_cards.csv"}
FREE = CardFacts(index=0, uuid="GPU-5ee7c2f1-0000-1111-2222-333344445555")
USED = CardFacts(index=1, uuid="GPU-5ee7c2f1-0000-1111-2222-333344446666")


def with_files(root: Path, *names: str) -> Path:
    for name in names:
        (root / name.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (root / name.lstrip("/")).touch()
    return root


@pytest.mark.parametrize(
    ("files", "families"),
    [
        ((), []),
        (("/dev/nvidiactl", "/dev/nvidia0"), ["cuda"]),
        (("/dev/mtgpu.0",), ["musa"]),
        (("/dev/kfd",), ["rocm"]),
        (("/dev/davinci_manager", "/dev/kfd"), ["ascend", "rocm"]),
        (("/dev/nvidia-modeset",), []),
    ],
)
def test_presence_is_a_matter_of_files(tmp_path: Path, files: tuple[str, ...], families: list[str]) -> None:
    root = with_files(tmp_path, *files)
    found = [name for name, backend in backends.available().items() if cards.present(backend, root)]
    assert sorted(found) == families


def test_cards_of_a_machine(tmp_path: Path) -> None:
    env = make_tool(tmp_path / "bin", "nvidia-smi", NVIDIA)
    answer = cards.cards_of(CUDA, env)
    assert [card.name for card in answer.values] == ["NVIDIA H200", "NVIDIA H200"]
    assert answer.reason == ""
    assert "-i" not in asked(tmp_path / "bin")[0].split()


def test_one_card_is_asked_about_by_name(tmp_path: Path) -> None:
    env = make_tool(tmp_path / "bin", "nvidia-smi", NVIDIA)
    cards.ask(CUDA.telemetry, env, card="3")
    assert asked(tmp_path / "bin")[0].endswith("-i 3")


@pytest.mark.parametrize(
    ("otherwise", "reason"),
    [
        ("echo no driver >&2; exit 9", "nvidia-smi failed with status 9: no driver"),
        ("exit 1", "nvidia-smi failed with status 1: no word"),
        ("echo No devices were found", "its tool names no card"),
    ],
)
def test_a_tool_that_fails_gives_its_words(tmp_path: Path, otherwise: str, reason: str) -> None:
    env = make_tool(tmp_path / "bin", "nvidia-smi", {}, otherwise=otherwise)
    assert cards.cards_of(CUDA, env) == cards.Answer(reason=reason)


def test_a_tool_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cards, "PATIENCE_S", 0.2)
    env = make_tool(tmp_path / "bin", "nvidia-smi", {}, otherwise="trap '' TERM; exec sleep 600")
    assert "did not answer within" in cards.cards_of(CUDA, env).reason
    commands = (path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if os.access(path, os.R_OK))
    assert not any(str(tmp_path).encode() in text for text in commands)


def test_a_tool_that_is_not_there(tmp_path: Path) -> None:
    assert cards.cards_of(CUDA, {"PATH": str(tmp_path)}).reason == "nvidia-smi is not on PATH"
    broken = tmp_path / "nvidia-smi"
    broken.write_text("no program")
    broken.chmod(0o755)
    assert "nvidia-smi" in cards.cards_of(CUDA, {"PATH": str(tmp_path)}).reason


def test_another_tool_is_asked_where_the_first_is_gone(tmp_path: Path) -> None:
    env = make_tool(tmp_path / "bin", "amd-smi", {"static": "amd_smi_static.json"})
    (card,) = cards.cards_of(ROCM, env).values
    assert card.name == "AMD Instinct MI300X"


@pytest.mark.parametrize(
    ("variables", "device", "names"),
    [
        ({}, None, None),
        ({}, "3", ("3",)),
        ({}, "0, 2", ("0", "2")),
        ({"CUDA_VISIBLE_DEVICES": "4,5"}, None, ("4", "5")),
        ({"CUDA_VISIBLE_DEVICES": "4,5"}, "1", ("5",)),
        ({"CUDA_VISIBLE_DEVICES": "GPU-a,GPU-b"}, "GPU-b", ("GPU-b",)),
        ({"CUDA_VISIBLE_DEVICES": ""}, None, ()),
        ({"MUSA_VISIBLE_DEVICES": "7"}, "3", ("3",)),
    ],
)
def test_a_device_counts_among_those_that_are_visible(
    variables: dict[str, str], device: str | None, names: tuple[str, ...] | None
) -> None:
    assert cards.chosen(CUDA, variables, device) == names


@pytest.mark.parametrize(
    ("visible", "device"), [("4,5", "2"), ("4,5", "4"), ("", "0"), ("GPU-a", "GPU-b"), ("1", "9" * 30)]
)
def test_a_device_that_is_not_visible_is_refused(visible: str, device: str) -> None:
    with pytest.raises(UsageError, match="is not among those"):
        cards.chosen(CUDA, {"CUDA_VISIBLE_DEVICES": visible}, device)


def test_the_variable_that_the_caller_uses_is_the_one_to_set() -> None:
    assert cards.visibility_variable(ROCM, {}) == "HIP_VISIBLE_DEVICES"
    assert cards.visibility_variable(ROCM, {"ROCR_VISIBLE_DEVICES": "0"}) == "ROCR_VISIBLE_DEVICES"
    assert cards.visibility_variable(backends.get("compile"), {}) == ""


@given(st.lists(st.integers(0, 99).map(str), unique=True, min_size=1), st.data())
def test_indices_count_within_the_list(listed: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(listed) - 1))
    assert cards.chosen(CUDA, {"CUDA_VISIBLE_DEVICES": ",".join(listed)}, str(place)) == (listed[place],)


def test_uuids_are_one_in_any_spelling() -> None:
    assert cards.same_uuid("GPU-5EE7c2f1-0000", "5ee7c2f1-0000")
    assert cards.same_uuid("GPU-5ee7c2f1-0000", "GPU-5ee7")
    assert not cards.same_uuid("GPU-5ee7c2f1-0000", "GPU-5ee7c2f1-0001")
    assert not cards.same_uuid("", "GPU-1")
    assert cards.find([FREE, USED], "1") is USED
    assert cards.find([FREE, USED], USED.uuid) is USED
    assert cards.find([FREE], "7") is None
    assert cards.in_order([FREE, USED], ("1", "9", "0")) == [USED, FREE]


OTHER = CardFacts(index=2, uuid="GPU-77777777-0000")
NUMBERED = CardFacts(index=3)


@pytest.mark.parametrize(
    ("text", "visible", "found"),
    [
        ("all", None, (FREE, USED, OTHER, NUMBERED)),
        ("ALL", ("2", "0"), (OTHER, FREE)),
        ("1", None, (USED,)),
        ("2,0", None, (OTHER, FREE)),
        (" 0, 03 ", None, (FREE, NUMBERED)),
        ("GPU-77777777-0000,1", None, (OTHER, USED)),
        ("gpu-7777", None, (OTHER,)),
        (("0", "1"), ("2", "1"), (OTHER, USED)),
        (("GPU-7777",), ("2", "1"), (OTHER,)),
    ],
)
def test_devices(text: str | tuple[str, ...], visible: tuple[str, ...] | None, found: tuple[CardFacts, ...]) -> None:
    assert cards.parse_devices(text, [FREE, USED, OTHER, NUMBERED], visible=visible) == found


@pytest.mark.parametrize(
    ("text", "visible", "said"),
    [
        ("4", None, "no card named 4"),
        ("GPU-77777778", None, "no card named GPU-77777778. Nearest: GPU-77777777-0000."),
        ("0,0", None, "names card 0 twice$"),
        (f"0,{FREE.uuid}", None, f"names card 0 twice, as 0 and as {FREE.uuid}"),
        ("GPU-5ee7", None, "is the beginning of 2 UUIDs"),
        ("2", ("2", "1"), "no card named 2"),
        (FREE.uuid, ("2", "1"), "no card named"),
        ("", None, "names no card"),
        (" , ", None, "names no card"),
        ("all,0", None, "no card named all"),
        ("²", None, "no card named ²"),
        ("0", (), "no card is visible"),
    ],
)
def test_devices_that_cannot_be_meant(text: str, visible: tuple[str, ...] | None, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        cards.parse_devices(text, [FREE, USED, OTHER], visible=visible)
    assert caught.value.hint


@given(st.lists(st.integers(0, 30), unique=True, min_size=1), st.data())
def test_any_choice_of_cards_is_taken_in_its_order(numbers: list[int], data: st.DataObject) -> None:
    there = [CardFacts(index=number, uuid=f"GPU-{number:08d}-x") for number in numbers]
    wanted = data.draw(st.lists(st.sampled_from(there), unique_by=lambda card: card.index, min_size=1))
    words = [data.draw(st.sampled_from([str(card.index), card.uuid])) for card in wanted]
    assert cards.parse_devices(",".join(words), there) == tuple(wanted)


def test_who_uses_a_card(tmp_path: Path) -> None:
    env = make_tool(tmp_path / "bin", "nvidia-smi", NVIDIA)
    use = cards.use_of(CUDA, USED, env)
    assert [process.pid for process in use.foreign] == [41233, 41300]
    assert use.busy
    assert use.lines()[0] == "pid=41233 name=/opt/conda/bin/python"
    assert all(line.endswith("-i 1") for line in asked(tmp_path / "bin"))
    assert cards.use_of(CUDA, FREE, env).lines() == ["pid=777 name=unknown"]


def test_a_tool_that_may_not_say_who_says_that_somebody_is_there(tmp_path: Path) -> None:
    env = make_tool(tmp_path / "bin", "nvidia-smi", {**NVIDIA, "compute-apps": "cuda_hidden.csv"})
    assert cards.use_of(CUDA, FREE, env).lines() == ["pid=unknown name=unknown"]


@pytest.mark.parametrize(("card", "busy"), [(FREE, False), (USED, True)])
def test_memory_in_use_betrays_processes_that_are_not_shown(tmp_path: Path, card: CardFacts, busy: bool) -> None:
    env = make_tool(tmp_path / "bin", "nvidia-smi", {"driver_version": "cuda_cards.csv"}, otherwise="exit 0")
    use = cards.use_of(CUDA, card, env)
    assert use.busy is busy
    assert use.reason == ""
    assert use.to_json() == ([{"pid": None, "name": None, "memory_mb": 71240.0}] if busy else [])


def test_nothing_is_made_up_where_the_tool_says_nothing(tmp_path: Path) -> None:
    use = cards.use_of(CUDA, FREE, {"PATH": str(tmp_path)})
    assert (use.busy, use.to_json(), use.reason) == (False, None, "nvidia-smi is not on PATH")


def buried(pid: int) -> None:
    """Wait for a process that has come to us when its parent died; elsewhere somebody else does."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def test_our_own_tree_is_not_foreign(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    try:
        forks = "import os, time; os.fork() and os._exit(0); print(os.getpid(), flush=True); time.sleep(60)"
        marked = {**os.environ, proctree.MARKER: proctree.new_marker()}
        adopted = subprocess.Popen(
            [sys.executable, "-c", forks], env=marked, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        assert adopted.stdout is not None
        orphan = int(adopted.stdout.readline())
        adopted.wait()
        parsed = [CardProcess(pid=pid, card="0") for pid in (os.getpid(), child.pid, orphan, os.getppid())]
        answering = Query(argv=("true",), parse=lambda _: parsed)
        use = cards.use_of(replace(CUDA, processes=answering), FREE, {"PATH": os.defpath})
        assert [process.pid for process in use.foreign] == [os.getppid()]
        adopted.stdout.close()
    finally:
        child.kill()
        child.wait()
        os.kill(orphan, 9)
        buried(orphan)


def wheel(name: str) -> Build:
    return Build(name=name, kind=BuildKind.WHEEL, requirement="triton==3.6.0")


def interpreter(name: str) -> Build:
    return Build(name=name, kind=BuildKind.INTERPRETER, python=Path("/opt/conda/bin/python"))


def tree(name: str, python: str | None) -> Build:
    return Build(name=name, kind=BuildKind.TREE, tree=Path("/src"), python=Path(python) if python else None)


@pytest.mark.parametrize(
    ("builds", "name", "why"),
    [
        ([interpreter("a"), interpreter("b")], "cuda", "/dev/nvidiactl is there"),
        ([interpreter("a"), tree("b", "/opt/conda/bin/python")], "cuda", "/dev/nvidiactl is there"),
        ([interpreter("a"), wheel("b")], "compile", "the builds hold a CPU torch; --backend cuda with --build"),
        ([tree("a", None)], "compile", "the builds hold a CPU torch"),
    ],
)
def test_auto_takes_a_card_that_the_builds_can_use(tmp_path: Path, builds: list[Build], name: str, why: str) -> None:
    root = with_files(tmp_path, "/dev/nvidiactl")
    backend, reason = choose("auto", builds, root=root)
    assert backend.name == name
    assert why in reason
    assert choose("auto", builds, root=tmp_path / "empty") == (backends.get("compile"), "no card found")
    assert choose("hip", builds, root=root) == (ROCM, "")


@pytest.mark.parametrize(
    ("variables", "backend", "kept"),
    [
        ({}, CUDA, {"GEMS_VENDOR": "nvidia"}),
        ({"PPU_SDK": "/opt/ppu"}, CUDA, {"GEMS_VENDOR": "nvidia"}),
        ({"PPU_SDK": "/opt/ppu", "GEMS_VENDOR": "thead"}, CUDA, {"PPU_SDK": "/opt/ppu", "GEMS_VENDOR": "thead"}),
        ({"FLAGGEMS_VENDOR": "Metax"}, CUDA, {"FLAGGEMS_VENDOR": "Metax", "GEMS_VENDOR": "metax"}),
        ({"GEMS_VENDOR": ""}, MUSA, {"GEMS_VENDOR": "mthreads"}),
        ({"PPU_SDK": "/opt/ppu"}, backends.get("compile"), {}),
    ],
)
def test_the_vendor_of_a_measured_process(
    variables: dict[str, str], backend: backends.Backend, kept: dict[str, str]
) -> None:
    assert with_vendor(variables, backend) == kept


def test_what_is_missing_on_a_machine(tmp_path: Path) -> None:
    env = make_tool(tmp_path / "bin", "nvidia-smi", {})
    assert "none of /dev/nvidiactl: no NVIDIA CUDA card" in cards.why_absent(CUDA, env, tmp_path)
    root = with_files(tmp_path, "/dev/nvidiactl")
    assert cards.why_absent(CUDA, env, root) == ""
    assert "nvidia-smi is not on PATH" in cards.why_absent(CUDA, {"PATH": str(tmp_path)}, root)
