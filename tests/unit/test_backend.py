"""Backends, targets and the table of device properties."""

from __future__ import annotations

import pytest
from zlbench_backends.compile_only import PROPERTIES, device_properties

from zlbench import backend as backends
from zlbench.backend import Timer
from zlbench.errors import UsageError
from zlbench.target import KNOWN_TARGETS, parse_target, parse_targets


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("cuda", "cuda"),
        ("NVIDIA", "cuda"),
        ("gpu", "cuda"),
        ("mthreads", "musa"),
        ("amd", "rocm"),
        ("hip", "rocm"),
        ("npu", "ascend"),
        ("compile", "compile"),
        ("offline", "compile"),
        ("deviceless", "compile"),
        ("none", "compile"),
    ],
)
def test_backends_are_found_by_name_and_alias(word: str, name: str) -> None:
    assert backends.get(word).name == name


def test_an_unknown_backend_fails_with_the_list() -> None:
    with pytest.raises(UsageError, match="Nearest: cuda") as caught:
        backends.get("cudaa")
    assert "ascend, compile, cuda, musa, rocm" in caught.value.hint


def test_names_and_aliases_are_unique() -> None:
    words = [word for backend in backends.available().values() for word in (backend.name, *backend.aliases)]
    assert len(words) == len(set(words))


def test_the_device_less_backend_only_compiles() -> None:
    compile_only, cuda = backends.get("compile"), backends.get("cuda")
    assert compile_only.deviceless
    assert compile_only.timers[0] is Timer.COMPILE
    assert not cuda.deviceless
    assert cuda.timers[0] is Timer.CUDA_GRAPH
    assert cuda.supports_cuda_graph


def test_a_family_declares_what_measuring_on_it_takes() -> None:
    cards = [backend for backend in backends.available().values() if not backend.deviceless]
    assert len(cards) >= 4
    for backend in cards:
        assert backend.vendor
        assert backend.visibility
        assert backend.device_module
        assert backend.device_files
        assert backend.supports_cuda_graph == (backend.timers[0] is Timer.CUDA_GRAPH)
        assert None not in (backend.telemetry, backend.cards, backend.processes)
    assert not backends.get("compile").device_files


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("cuda:90", "cuda:90"),
        ("sm_90", "cuda:90"),
        ("SM80", "cuda:80"),
        ("nvidia:100", "cuda:100"),
        ("gfx942", "hip:gfx942"),
        ("rocm:gfx90a", "hip:gfx90a"),
    ],
)
def test_targets(text: str, name: str) -> None:
    assert str(parse_target(text)) == name


def test_a_target_says_what_triton_needs() -> None:
    hopper, mi300 = parse_targets("cuda:90,hip:gfx942 cuda:90")
    assert (hopper.backend, hopper.arch, hopper.warp_size) == ("cuda", 90, 32)
    assert (mi300.backend, mi300.arch, mi300.warp_size) == ("hip", "gfx942", 64)


@pytest.mark.parametrize("text", ["", "cuda", "cuda:", "cuda:91", "cuda:9x", "hip:942", "tpu:5", "cuda:90:1", "../x"])
def test_a_target_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="target"):
        parse_targets(text)


def test_every_target_has_the_properties_of_a_card() -> None:
    assert set(PROPERTIES) == set(KNOWN_TARGETS)
    for name in KNOWN_TARGETS:
        target = parse_target(name)
        properties = device_properties(target)
        assert properties["warpSize"] == target.warp_size
        assert {
            "max_shared_mem",
            "max_num_regs",
            "multiprocessor_count",
            "sm_clock_rate",
            "mem_clock_rate",
        } <= set(properties)


def test_cards_have_the_numbers_that_their_tool_gives_them() -> None:
    assert backends.get("cuda").environment == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
