"""Which suites get a fake device, and what stays of it; without torch and triton."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from zlbench_plugins import fake_device
from zlbench_plugins._patch import PatchSet
from zlbench_plugins.fake_device import dispatch, torch_answers
from zlbench_plugins.fake_device.fake_tensors import MadeUp

from zlbench.target import parse_target


def package(root: Path, name: str, files: dict[str, str]) -> str:
    for path, text in {"__init__.py": "raise RuntimeError('imported too early')\n", **files}.items():
        (root / name / path).parent.mkdir(parents=True, exist_ok=True)
        (root / name / path).write_text(text, encoding="utf-8")
    return name


@pytest.mark.parametrize(
    ("files", "needed"),
    [
        ({"runtime.py": "def use_device(name):\n    pass\n"}, False),
        ({"runtime/__init__.py": "def use_device(name):\n    pass\n"}, False),
        ({"runtime/__init__.py": "device = None\n"}, True),
        ({}, True),
    ],
)
def test_a_suite_that_can_do_without_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], *, needed: bool
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    name = package(tmp_path, f"suite_{needed}_{len(files)}", files)
    assert fake_device.needed(name) is needed
    assert name not in sys.modules


def test_a_suite_that_is_not_there_needs_nothing() -> None:
    assert not fake_device.needed("no_such_suite_anywhere")
    assert not fake_device.needed("")


def test_the_vendor_follows_the_target_and_nothing_overrides_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARCH", "x86_64")
    monkeypatch.setenv("PPU_SDK", "/opt")
    monkeypatch.setenv("GEMS_VENDOR", "mthreads")
    fake_device.vendor_variables(parse_target("gfx942"))
    environment = fake_device.os.environ
    assert environment["GEMS_VENDOR"] == "amd"
    assert not {"ARCH", "PPU_SDK"} & set(environment)
    fake_device.vendor_variables(parse_target("cuda:90"))
    assert environment["GEMS_VENDOR"] == "nvidia"


@pytest.mark.parametrize(
    ("target", "capability", "name"),
    [("cuda:90", (9, 0), "NVIDIA H100"), ("cuda:120", (12, 0), "NVIDIA GeForce"), ("gfx942", (9, 4), "AMD Instinct")],
)
def test_properties_are_those_of_the_card_that_stands_for_the_target(
    target: str, capability: tuple[int, int], name: str
) -> None:
    card = torch_answers.properties(parse_target(target))
    assert torch_answers.capability(parse_target(target)) == (card.major, card.minor) == capability
    assert card.name.startswith(name)
    assert card.gcnArchName == (target if target.startswith("gfx") else "")


def test_no_time_is_made_up_by_events() -> None:
    with pytest.raises(RuntimeError, match="nothing can be timed"):
        torch_answers.Nothing().elapsed_time(torch_answers.Nothing())


def test_a_row_does_not_depend_on_random_numbers_drawn_before() -> None:
    generator = torch_answers.Generator(None)
    before = list(generator.get_state().view("int64"))
    state = generator.get_state()
    state.view("int64")[1] += 4
    generator.set_state(state)
    assert list(generator.get_state().view("int64")) == before


def test_made_up_values_are_counted_for_each_row() -> None:
    made_up = MadeUp()
    made_up.note("nonzero")
    made_up.note("nonzero")
    assert made_up.take() == {"nonzero": 2}
    assert made_up.take() == {}


def test_registrations_are_those_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    class Library:
        ns, dispatch_key = "aten", ""

        def impl(self, *_: object, **__: object) -> None:
            pass

        def _destroy(self) -> None:
            pass

    torch = ModuleType("torch")
    torch.library = SimpleNamespace(Library=Library)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    registered, patches = dispatch.Registered(), PatchSet()
    dispatch.watch(registered, patches)
    first, second = Library(), Library()
    first.impl("relu", len, "CUDA")
    first.impl("add.Tensor", len, "CPU")
    second.impl("aten::relu", max, "CUDA")
    second.impl("sum", max, "CUDA", with_keyset=True)
    assert registered.table == {"aten::relu.default": max}
    second._destroy()
    assert registered.table == {"aten::relu.default": len}
    patches.undo()
    Library().impl("tanh", len, "CUDA")
    assert list(registered.table) == ["aten::relu.default"]


def test_patches_of_the_worker_count_as_the_cells() -> None:
    owner = SimpleNamespace(a=1, b=2)
    worker, cell = PatchSet(), PatchSet()
    worker.set(owner, "a", 3)
    cell.adopt(worker)
    cell.set(owner, "b", 4)
    worker.set(owner, "c", 5)
    assert cell.labels() == ["SimpleNamespace.a", "SimpleNamespace.c", "SimpleNamespace.b"]
    owner.a = 6
    assert cell.not_in_force() == ["SimpleNamespace.a"]
    cell.undo()
    assert (owner.a, owner.b) == (6, 2)
