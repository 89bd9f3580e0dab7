"""As much of torch as plugins ask for on a card, with nothing behind it."""

from . import cuda as cuda
from . import fakecard as fakecard

__version__ = "2.99.0+fakecard"
uint8 = "uint8"


class Tensor:
    """A number on the card, as much as it takes to see whether a card answers."""

    def __init__(self, value=0.0):
        self.value = value

    def add(self, other):
        return Tensor(self.value + other)

    add_ = add

    def sum(self):
        return Tensor(self.value * 16)

    def item(self):
        return self.value


def zeros(*_shape, **_kwargs):
    return Tensor()


empty = zeros


def is_tensor(value):
    return isinstance(value, Tensor)


def manual_seed(_seed):
    return None
