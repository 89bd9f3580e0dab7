"""Random numbers while a graph is captured come from a stand-in, so that a failed capture cannot poison the process.

Torch registers its default generator with every graph. When the capture fails, the generator's state goes on believing
that it is being captured, and every later `torch.randn` of the process raises "Offset increment outside graph capture
encountered unexpectedly". So the generator gets a copy of its state to be captured with, and its own back afterwards.

Suites with random kernels of their own read and write the state of `default_generators[i]`, which Torch forbids during
a capture. They get an object that answers from a copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from zlbench_plugins._patch import PatchSet


class GeneratorStandIn:
    """A generator whose state is a copy on the host; all else is the generator's own."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator
        self._state = generator.get_state().clone()

    def get_state(self) -> Any:
        """A copy of the state, as Torch gives one."""
        return self._state.clone()

    def set_state(self, state: Any) -> None:
        """Keep a copy of this state."""
        self._state = state.clone()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)


@contextmanager
def rng_stand_in(module: Any) -> Iterator[None]:
    """Put both stand-ins in place for the current device of Torch's `module`; what stood there comes back in any case.

    A Torch too old for exchangeable states gets the second alone.
    """
    generators = tuple(getattr(module, "default_generators", ()))
    index = int(module.current_device()) if generators else 0
    if index >= len(generators):
        yield
        return
    patches = PatchSet()
    stand_in = GeneratorStandIn(generators[index])
    with _exchanged_state(generators[index]):
        patches.set(module, "default_generators", (*generators[:index], stand_in, *generators[index + 1 :]))
        try:
            yield
        finally:
            patches.undo()


@contextmanager
def _exchanged_state(generator: Any) -> Iterator[None]:
    try:
        original = generator.graphsafe_get_state()
        copy = generator.clone_state()
    except (AttributeError, NotImplementedError, RuntimeError):
        yield
        return
    generator.graphsafe_set_state(copy)
    try:
        yield
    finally:
        generator.graphsafe_set_state(original)
