"""Lets a CPU-only Torch handle tensors that say they are on a card: it lacks the device guard, and this registers one.

Torch has a guard that does nothing, and a function that puts it where a CUDA build finds no card. It looks at the guard
that is there: one whose every answer is 0 ("no cards") makes it act. No compiler is needed.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

_REGISTRY = "_ZN3c104impl26device_guard_impl_registryE"
_ENSURE = "_ZN3c104impl24ensureCUDADeviceGuardSetEv"
_CUDA = 1
"""Place of CUDA in Torch's list of device types, part of its binary interface."""
_SLOTS = 64
"""More virtual functions than the guard's interface has."""


def register() -> str:
    """Register the guard for this process; returns why it could not be done, or an empty string."""
    import torch

    library = Path(str(torch.__file__)).parent / "lib" / "libc10.so"
    try:
        loaded = ctypes.CDLL(str(library))
        registry = (ctypes.c_void_p * (_CUDA + 1)).in_dll(loaded, _REGISTRY)
        ensure = getattr(loaded, _ENSURE)
    except (OSError, ValueError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"
    ensure.restype = None
    before = registry[_CUDA]
    counting = _no_cards()
    registry[_CUDA] = counting
    ensure()
    if registry[_CUDA] == counting:
        registry[_CUDA] = before
        return "this Torch does not replace a guard that has no cards"
    return ""


_kept: list[Any] = []
"""What native code still points at."""


def _no_cards() -> int:
    """Address of an object all of whose virtual functions return 0."""
    zero = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(lambda _: 0)
    address = ctypes.cast(zero, ctypes.c_void_p).value
    table = (ctypes.c_void_p * _SLOTS)(*[address] * _SLOTS)
    instance = (ctypes.c_void_p * 1)(ctypes.addressof(table))
    _kept.extend((zero, table, instance))
    return ctypes.addressof(instance)
