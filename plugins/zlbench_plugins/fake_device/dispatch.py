"""Torch's names reach the suite's kernels without a card: what the suite registers with Torch's dispatcher is called.

The suite's own `use_gems` runs and decides what is in force (its lists, conditions and exclusions). Torch would find
those functions through the device of real tensors; tensors without storage never get that far, so a dispatch mode does
the same look-up for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from zlbench_plugins._patch import PatchSet

_KEY = "CUDA"
"""Torch's dispatch key of the card; HIP has the same."""


class Registered:
    """Functions that are registered for the card now, by overload: ``aten::topk.default`` → function."""

    def __init__(self) -> None:
        self._by_library: WeakKeyDictionary[Any, dict[str, Callable[..., Any]]] = WeakKeyDictionary()
        self.table: dict[str, Callable[..., Any]] = {}

    def note(self, library: Any, name: Any, function: Callable[..., Any]) -> None:
        """Keep one registration; the newest of a name counts."""
        overload = _overload(library.ns, name)
        self._by_library.setdefault(library, {})[overload] = function
        self.table[overload] = function

    def forget(self, library: Any) -> None:
        """Drop what a library registered."""
        if self._by_library.pop(library, None) is not None:
            self.table = {name: function for kept in self._by_library.values() for name, function in kept.items()}


def _overload(namespace: str, name: Any) -> str:
    schema = getattr(name, "_schema", None)
    text = f"{schema.name}.{name._overloadname}" if schema is not None else str(name)
    text = text if "::" in text else f"{namespace}::{text}"
    return text if "." in text else f"{text}.default"


def watch(registered: Registered, patches: PatchSet) -> None:
    """Note what is registered from now on; has to begin before the suite is imported."""
    import torch

    library = torch.library.Library
    implement, destroy = library.impl, library._destroy

    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> None:
        implement(self, op_name, fn, dispatch_key, **options)
        if (dispatch_key or self.dispatch_key) == _KEY and not options.get("with_keyset"):
            registered.note(self, op_name, fn)

    def destroyed(self: Any) -> None:
        registered.forget(self)
        destroy(self)

    patches.set(library, "impl", impl)
    patches.set(library, "_destroy", destroyed)


def enter(registered: Registered) -> Callable[[], None]:
    """Let registered functions answer for tensors on the card, until the function that is returned is called."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    def on_card(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        if tensors:
            return any(tensor.device.type == "cuda" for tensor in tensors)
        device = kwargs.get("device")
        return device is not None and torch.device(device).type == "cuda"

    @cache
    def composite_key(func: Any) -> Any:
        """Under which key Torch has the operator as a piece of others; None where it is a piece itself."""
        key = torch._C.DispatchKey.CompositeImplicitAutograd
        return key if func.namespace == "aten" and func.has_kernel_for_dispatch_key(key) else None

    class ToSuite(TorchDispatchMode):  # type: ignore[misc,unused-ignore]
        """Calls the suite's function where one is registered for an operator."""

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
        ) -> Any:
            kwargs = kwargs or {}
            function = registered.table.get(f"{func._schema.name}.{func._overloadname}")
            # What is called from here is looked up in its turn, as on a card.
            if function is not None and on_card(args, kwargs):
                with self:
                    return function(*args, **kwargs)
            composite = composite_key(func)
            if composite is None:
                return func(*args, **kwargs)
            with self:
                return func._op_dk(composite, *args, **kwargs)

    mode = ToSuite()
    mode.__enter__()
    return lambda: mode.__exit__(None, None, None)
