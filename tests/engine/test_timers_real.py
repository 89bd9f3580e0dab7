"""What the timers assume of Triton's and Torch's real names, checked where there is no card."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from zlbench_plugins.bench_stand_in import BenchStandIn
from zlbench_plugins.context import CellContext
from zlbench_plugins.rng_stand_in import GeneratorStandIn, rng_stand_in
from zlbench_plugins.timing_card import Card

from zlbench import backend as backends
from zlbench.cells import CellSpec

torch = pytest.importorskip("torch")
testing = pytest.importorskip("triton.testing")
pytestmark = pytest.mark.triton


def spec(out_dir: Path) -> CellSpec:
    return CellSpec(
        cell="x/A", op="x", side="A", node="n", suite_root="/s", package="p", out_dir=str(out_dir), backend="cuda",
        timer="cuda_graph", l2="warm",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["do_bench", "do_bench_cudagraph"])
def test_the_stand_in_takes_what_triton_s_timer_takes(tmp_path: Path, name: str) -> None:
    original = getattr(testing, name)
    stand_in = BenchStandIn(CellContext(spec(tmp_path)), Card(backends.get("cuda"), torch), graphs=True)
    with stand_in.in_place():
        ours = getattr(testing, name)
        assert ours is not original
    assert getattr(testing, name) is original
    assert [*inspect.signature(ours).parameters][:-1] == [*inspect.signature(original).parameters]


def test_a_generator_s_state_is_copied_as_random_kernels_use_it() -> None:
    """The arithmetic of a Philox generator: 16 bytes, seed and offset, changed in place and written back."""
    written = torch.tensor([7, 100], dtype=torch.int64).view(torch.uint8)
    stand_in = GeneratorStandIn(SimpleNamespace(get_state=lambda: written))
    state = stand_in.get_state()
    seed, offset = state.view(torch.int64)
    offset += 8
    assert (int(seed), int(stand_in.get_state().view(torch.int64)[1])) == (7, 100)
    stand_in.set_state(state)
    assert int(stand_in.get_state().view(torch.int64)[1]) == 108
    assert int(written.view(torch.int64)[1]) == 100


def test_a_generator_that_cannot_exchange_its_state_keeps_it() -> None:
    """Torch's generator on the host is one; those of cards can since Torch 2.4."""
    generator = torch.Generator().manual_seed(3)
    module: Any = SimpleNamespace(default_generators=(generator,), current_device=lambda: 0)
    before = generator.get_state()
    with rng_stand_in(module):
        module.default_generators[0].set_state(torch.Generator().manual_seed(4).get_state())
        assert module.default_generators[0].initial_seed() == 3
    assert module.default_generators == (generator,)
    assert torch.equal(generator.get_state(), before)


def test_a_card_that_nothing_has_touched_is_not_asked() -> None:
    assert Card(backends.get("cuda"), torch).answers() is None
    assert not torch.cuda.is_initialized()
