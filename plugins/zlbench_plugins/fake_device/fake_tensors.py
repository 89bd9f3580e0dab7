"""Tensors on a card that is not there: shapes, strides and dtypes without storage, so 1024³ elements cost nothing.

What only a device could tell (a value, how many elements a mask selects) is made up, always alike, and counted: a row
that used such a value says so, because the sizes behind it are not those of a real run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from zlbench_plugins._patch import PatchSet

VALUE = 64
"""Stands in for every number that is read from a tensor."""

_BASE = 1 << 32


class MadeUp:
    """What was made up since the last `take`, by operator."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()

    def note(self, name: str) -> None:
        """Count one value or size."""
        self._count[name] += 1

    def take(self) -> dict[str, int]:
        """Return the counts and begin anew."""
        taken = dict(sorted(self._count.items()))
        self._count.clear()
        return taken


def install(patches: PatchSet) -> None:
    """Let such tensors be made, and be handed to a kernel."""
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    # Else each creation looks for a device to initialise.
    patches.set(FakeTensorMode, "avoid_device_init", property(lambda _: True))
    patches.set(FakeTensor, "data_ptr", _address)


def enter(made_up: MadeUp) -> Callable[[], None]:
    """Make every tensor of this process one without storage, until the function that is returned is called."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    fake = FakeTensorMode(allow_non_fake_inputs=True)
    values = _values_mode(made_up)
    fake.__enter__()
    values.__enter__()

    def leave() -> None:
        values.__exit__(None, None, None)
        fake.__exit__(None, None, None)

    return leave


def warm() -> None:
    """Use such a tensor once: the first takes a second of imports, which no cell needs to pay."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(allow_non_fake_inputs=True):
        torch.empty((2, 3), device="cuda").t().add(1).to(torch.float16).sum()


def _address(tensor: Any) -> int:
    """An address that is as aligned as a real one: allocations are, a view that begins inside may not be."""
    return _BASE + int(tensor.storage_offset()) * int(tensor.element_size())


def _values_mode(made_up: MadeUp) -> Any:
    from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
    from torch.utils._python_dispatch import TorchDispatchMode

    replaced: dict[str, Callable[..., Any]] = {"aten::_pin_memory": lambda tensor, *_, **__: tensor,
                                               "aten::is_pinned": lambda *_, **__: False}  # fmt: skip

    class Values(TorchDispatchMode):  # type: ignore[misc,unused-ignore]
        """Answers what fake tensors refuse to."""

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
        ) -> Any:
            kwargs = kwargs or {}
            name = func._schema.name
            if name in replaced:
                return replaced[name](*args, **kwargs)
            try:
                return func(*args, **kwargs)
            except (DataDependentOutputException, DynamicOutputShapeException):
                maker = _MAKERS.get(name)
                if maker is None:
                    raise
                made_up.note(name.removeprefix("aten::"))
                return maker(*args, **kwargs)

    return Values()


def _value(tensor: Any) -> Any:
    import torch

    if tensor.dtype == torch.bool:
        return True
    return float(VALUE) if tensor.dtype.is_floating_point else VALUE


def _some(tensor: Any) -> int:
    return min(int(tensor.numel()), VALUE)


def _nonzero(tensor: Any, **_: object) -> Any:
    import torch

    return tensor.new_empty((_some(tensor), tensor.dim()), dtype=torch.int64)


def _masked_select(tensor: Any, mask: Any, **_: object) -> Any:
    import torch

    return tensor.new_empty(min(VALUE, torch.broadcast_shapes(tensor.shape, mask.shape).numel()))


def _repeat_interleave(repeats: Any, *, output_size: int | None = None) -> Any:
    return repeats.new_empty(repeats.numel() if output_size is None else output_size)


def _unique(tensor: Any, *_: object, **__: object) -> Any:
    import torch

    some = _some(tensor)
    return (tensor.new_empty(some), tensor.new_empty(tensor.shape, dtype=torch.int64),
            tensor.new_empty(some, dtype=torch.int64))  # fmt: skip


def _indexed(tensor: Any, indices: Sequence[Any], **_: object) -> Any:
    """Index with masks: each stands for as many positions as are made up."""
    import torch

    places: list[Any] = []
    for index in indices:
        if index is not None and index.dtype in (torch.bool, torch.uint8):
            places += [index.new_empty(_some(index), dtype=torch.int64)] * index.dim()
        else:
            places.append(index)
    return torch.ops.aten.index.Tensor(tensor, places)


_MAKERS: dict[str, Callable[..., Any]] = {
    "aten::_local_scalar_dense": _value,
    "aten::equal": lambda *_: True,
    "aten::is_nonzero": lambda *_: True,
    "aten::nonzero": _nonzero,
    "aten::masked_select": _masked_select,
    "aten::repeat_interleave": _repeat_interleave,
    "aten::_unique2": _unique,
    "aten::unique_dim": _unique,
    "aten::unique_consecutive": _unique,
    "aten::index": _indexed,
}
