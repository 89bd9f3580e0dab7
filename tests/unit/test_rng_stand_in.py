"""Random numbers while a graph is captured: a stand-in is captured, and the generator has its own state afterwards."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from fakes.fake_timing import FakeCard
from zlbench_plugins.rng_stand_in import rng_stand_in


def advance(module: SimpleNamespace) -> int:
    """What a suite with random kernels of its own does: read the default generator's state and write it back."""
    generator = module.default_generators[module.current_device()]
    state = generator.get_state()
    offset = int(state.offset)
    state.offset += 8
    generator.set_state(state)
    return offset


@pytest.mark.parametrize("old", [False, True])
def test_a_suite_reads_and_writes_a_copy(old: bool) -> None:
    fake = FakeCard(old=old)
    generators = fake.cuda.default_generators
    advance(fake.cuda)
    with rng_stand_in(fake.cuda):
        assert [advance(fake.cuda), advance(fake.cuda)] == [8, 16]
        assert fake.cuda.default_generators[0].initial_seed() == 42
    assert fake.cuda.default_generators is generators
    assert advance(fake.cuda) == 8


def test_what_a_capture_leaves_behind_is_thrown_away() -> None:
    fake = FakeCard()
    state = fake.generator.state

    def fail() -> None:
        with rng_stand_in(fake.cuda):
            registered = fake.cuda.default_generators[0]._generator.state
            assert registered is not state
            registered.capturing = True
            raise KeyError("capture failed")

    with pytest.raises(KeyError):
        fail()
    assert fake.generator.state is state
    assert not state.capturing
    fake.rand()


def test_a_state_is_copied_both_ways() -> None:
    fake = FakeCard()
    with rng_stand_in(fake.cuda):
        stand_in = fake.cuda.default_generators[0]
        given = stand_in.get_state()
        stand_in.set_state(given)
        given.offset = 100
        assert stand_in.get_state().offset == 0


@pytest.mark.parametrize("generators", [None, ()])
def test_a_module_without_default_generators(generators: object) -> None:
    module = SimpleNamespace(current_device=lambda: 0)
    if generators is not None:
        module.default_generators = generators
    with rng_stand_in(module):
        assert getattr(module, "default_generators", None) == generators
