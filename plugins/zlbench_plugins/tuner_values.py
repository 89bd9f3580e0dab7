"""Keys and configs of autotuners as JSON and back, the same text in every process, build and version of Triton."""

from __future__ import annotations

import inspect
import json
import math
import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_HOOK = "pre_hook"


class UnknownConfigError(Exception):
    """A recorded config that this process cannot make again; the message says why."""


def encode(value: Any) -> Any:
    """JSON for a value; what JSON has no word for is described, and equal only to its own description."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, tuple):
        return {"tuple": [encode(item) for item in value]}
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        # A tensor as part of a key: its text would be its data.
        return {"text": f"{type(value).__name__} {value.dtype} {tuple(value.shape)}"}
    try:
        return operator.index(value)
    except TypeError:
        return {"text": f"{type(value).__name__} {without_address(str(value))}"}


def without_address(text: str) -> str:
    """A text as it would be in another process: Python's own description of an object says where it lies."""
    return _ADDRESS.sub("", text)


def decode(value: Any) -> Any:
    """The value that `encode` was given.

    Raises:
        UnknownConfigError: it was only described.
    """
    if isinstance(value, list):
        return [decode(item) for item in value]
    if isinstance(value, dict):
        ((word, content),) = value.items()
        if word == "tuple":
            return tuple(decode(item) for item in content)
        if word == "dict":
            return {decode(key): decode(item) for key, item in content}
        if word == "float":
            return float(content)
        raise UnknownConfigError(f"{content} cannot be made from its description")
    return value


def encode_key(key: Sequence[Any]) -> list[Any]:
    """JSON for a tuning key."""
    return [encode(part) for part in key]


def canonical(encoded: Any) -> str:
    """One text for encoded data, to look it up by."""
    return json.dumps(encoded, separators=(",", ":"), sort_keys=True)


def encode_config(config: Any) -> dict[str, Any]:
    """JSON for a config: whatever attributes it has in this Triton, but for its hook, which is a function."""
    fields = vars(config) if hasattr(config, "__dict__") else {"kwargs": {"config": str(config)}}
    return {
        name: {key: encode(item) for key, item in value.items()} if name == "kwargs" else encode(value)
        for name, value in fields.items()
        if name != _HOOK
    }


def in_short(config: Mapping[str, Any]) -> str:
    """An encoded config as text, without what is unset: another Triton may not know it."""
    return canonical({name: value for name, value in config.items() if value})


def has_hook(config: Any) -> bool:
    """Whether a config calls something before each launch, such as one that sets a tensor descriptor's block."""
    return getattr(config, _HOOK, None) is not None


def resolve(recorded: Mapping[str, Any], *, hook: bool, configs: Sequence[Any], config_class: Any, spare: Any) -> Any:
    """The config that was recorded, as an object of this process.

    An element of the tuner's own configs where one is equal, since that has its hook; else a new one.

    Args:
        hook: whether the recorded one had a hook.
        spare: the tuner's hook for configs that it makes itself, if it has one.

    Raises:
        UnknownConfigError: it cannot be made again as it was.
    """
    defaults = _defaults(config_class)
    equal = [config for config in configs if _same(recorded, encode_config(config), defaults)]
    for config in equal:
        if has_hook(config) == hook:
            return config
    accepted = {name: value for name, value in recorded.items() if name in defaults or name == "kwargs"}
    foreign = [name for name, value in recorded.items() if name not in accepted and value]
    if foreign:
        raise UnknownConfigError(f"this Triton's Config has no {', '.join(foreign)}")
    kwargs = {name: decode(value) for name, value in accepted.pop("kwargs", {}).items()}
    made = config_class(kwargs, **{name: decode(value) for name, value in accepted.items()})
    if hook:
        made.pre_hook = _the_hook(configs, spare)
    return made


def _defaults(config_class: Any) -> dict[str, Any]:
    """What this Triton's Config can be given, and what it is without."""
    parameters = inspect.signature(config_class).parameters.values()
    return {p.name: encode(p.default) for p in parameters if p.name not in ("kwargs", _HOOK)}


def _same(recorded: Mapping[str, Any], live: Mapping[str, Any], defaults: Mapping[str, Any]) -> bool:
    """Equal in all that both Tritons know; what only one of them knows must be unset in it."""
    shared = recorded.keys() & live.keys()
    return (
        all(recorded[name] == live[name] for name in shared)
        and not any(recorded[name] for name in recorded.keys() - shared)
        and all(live[name] == defaults.get(name) for name in live.keys() - shared)
    )


def _the_hook(configs: Sequence[Any], spare: Any) -> Any:
    """The hook for a config that is not among the declared ones: that for such configs, or the one that all share."""
    hooks = {spare} if spare is not None else {config.pre_hook for config in configs if has_hook(config)}
    if len(hooks) != 1:
        raise UnknownConfigError(f"its pre_hook is lost: {len(hooks)} hooks to choose from")
    return hooks.pop()
