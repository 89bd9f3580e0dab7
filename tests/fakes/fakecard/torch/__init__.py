"""As much of torch as plugins ask for on a card, with nothing behind it."""

from . import cuda as cuda
from . import fakecard as fakecard

__version__ = "2.99.0+fakecard"


class Tensor:
    """No value is one."""


def is_tensor(value):
    return isinstance(value, Tensor)


def manual_seed(_seed):
    return None
