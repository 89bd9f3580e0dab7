"""The full identity of an input case: two rows that print alike (a plain and a transposed one) stay apart."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from zlbench_plugins.tuner_values import without_address


def describe(value: Any) -> Any:
    """One argument as plain data: tensors by shape, strides and dtype; containers item by item; the rest as text."""
    shape, stride = getattr(value, "shape", None), getattr(value, "stride", None)
    if shape is not None and callable(stride):
        return {
            "shape": [int(n) for n in shape],
            "stride": [int(n) for n in stride()],
            "dtype": dtype_name(value.dtype),
        }
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): describe(item) for key, item in value.items()}
    name = getattr(value, "__name__", None)
    return str(name) if name else _described(value)


def _described(value: Any) -> str:
    """Its own text; of one that lies in memory somewhere, the type and whatever else is the same in every process."""
    text = str(value)
    stripped = without_address(text)
    return text if stripped == text else f"{type(value).__name__} {stripped}"


def dtype_name(dtype: Any) -> str:
    """``float16`` for ``torch.float16`` and for the plain word."""
    return str(dtype).removeprefix("torch.")


def identity(args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs of one call as plain data, in argument order."""
    return {"args": [describe(arg) for arg in args], "kwargs": {key: describe(arg) for key, arg in kwargs.items()}}


def digest(described: Mapping[str, Any]) -> str:
    """Short name of an input identity, equal in every process."""
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:12]


def label(described: Mapping[str, Any]) -> str:
    """What a person reads: ``64x1024 5`` or ``16x1024x256 256 transposed``.

    Tensors of one shape in a row are written once; strides appear only where they are not those of a fresh tensor.
    """
    parts: list[str] = []
    for item in described["args"]:
        part = _part(item)
        again = isinstance(item, dict) and parts[-1:] == [part]
        parts += [part] if part and not again else []
    parts += [f"{key}={text}" for key, item in described["kwargs"].items() if (text := _part(item))]
    return " ".join(parts) or "no-args"


def _part(item: Any) -> str:
    if isinstance(item, dict) and "shape" in item:
        shape = "x".join(map(str, item["shape"])) or "scalar"
        return (
            shape if item["stride"] == _contiguous(item["shape"]) else f"{shape}s{'.'.join(map(str, item['stride']))}"
        )
    if isinstance(item, list):
        return "x".join(filter(None, (_part(part) for part in item)))
    if isinstance(item, dict):
        return ",".join(f"{key}={_part(value)}" for key, value in item.items())
    return "" if item is None else str(item)


def _contiguous(shape: Sequence[int]) -> list[int]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(1, size)
    return strides[::-1]
