"""A suite imported once for many forked cells: what its import asks of the card is answered without opening the card.

A process that has opened a card cannot be forked into one that uses it. So a child asks first, and its answers (the
card's real properties) stand in for Torch's while the suite is imported in the worker. In the cells every replaced
function is Torch's own again, also where the suite keeps a reference to it. Checked at the end by a child that
uses the card: where that fails, each cell imports the suite by itself.
"""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from zlbench_plugins._patch import PatchSet

_PLAIN = (bool, int, float, str)
_NVML = "PYTORCH_NVML_BASED_CUDA_CHECK"
"""Makes `torch.cuda.is_available` and `device_count` ask the driver's management library, which opens nothing."""


def in_child(use: Callable[[], Any]) -> Any:
    """Call `use` in a forked child and return its result as JSON brought it over; None where it raised or died."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(reader)
            with os.fdopen(writer, "w", encoding="utf-8") as stream:
                json.dump(use(), stream)
            code = 0
        except BaseException:  # noqa: BLE001 - the reason goes to the worker's log; the parent sees that there is no answer
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as stream:
        text = stream.read()
    status = os.waitpid(pid, 0)[1]
    try:
        return json.loads(text) if status == 0 else None
    except ValueError:
        return None


def ask(module: str) -> dict[str, Any] | None:
    """Properties of the first visible card as Torch gives them; None where there is no card for this Torch.

    Keys: capability (major, minor), name, properties (every plain attribute of Torch's object; uuid as text).
    """

    def look() -> dict[str, Any] | None:
        import torch

        device = getattr(torch, module)
        if not device.is_available():
            return None
        properties = device.get_device_properties(0)
        plain = {name: getattr(properties, name) for name in dir(properties) if not name.startswith("_")}
        found = {name: value for name, value in plain.items() if isinstance(value, _PLAIN)}
        found["uuid"] = str(plain.get("uuid", ""))
        capability = getattr(device, "get_device_capability", lambda _: (0, 0))(0)
        return {"capability": list(capability), "name": str(device.get_device_name(0)), "properties": found}

    answer = in_child(look)
    return answer if isinstance(answer, dict) else None


def why_none(module: str) -> str:
    """Why this interpreter's Torch has no card, as far as Torch itself tells."""
    try:
        import torch
    except ImportError as error:
        return f"torch cannot be imported: {error}"
    version = getattr(torch, "__version__", "of an unknown version")
    builds = getattr(torch, "version", None)
    if module == "cuda" and builds is not None and not (getattr(builds, "cuda", "") or getattr(builds, "hip", "")):
        return f"torch {version} is a build for CPUs alone"
    if getattr(torch, module, None) is None:
        return f"torch {version} has no torch.{module}"
    return f"torch.{module} is not available in torch {version}"


def works(module: str) -> bool:
    """Whether a process forked from this one can use the card: allocates on it and waits for it."""

    def use() -> bool:
        import torch

        tensor = torch.zeros(16, device=module).add(1)
        getattr(torch, module).synchronize()
        return bool(tensor.sum().item() == 16)

    return in_child(use) is True


@contextmanager
def answering(module: str, answers: Mapping[str, Any]) -> Iterator[None]:
    """Answer Torch's questions about the current card from `answers`, in this process and while the context lasts."""
    import torch

    device = getattr(torch, module)
    state = SimpleNamespace(active=True, pid=os.getpid())
    patches = PatchSet()
    values: dict[str, Any] = {
        "current_device": 0,
        "get_device_properties": SimpleNamespace(**answers["properties"]),
        "get_device_capability": tuple(answers["capability"]),
        "get_device_name": answers["name"],
    }
    before = os.environ.get(_NVML)
    os.environ[_NVML] = "1"
    for name, value in values.items():
        original = getattr(device, name, None)
        if original is not None:
            patches.set(device, name, _answer(original, value, state))
    try:
        yield
    finally:
        state.active = False
        patches.undo()
        if before is None:
            del os.environ[_NVML]
        else:
            os.environ[_NVML] = before


def _answer(original: Callable[..., Any], value: Any, state: SimpleNamespace) -> Callable[..., Any]:
    """A function that answers only there and then; a suite that kept it asks Torch through it ever after."""

    def answer(*args: Any, **kwargs: Any) -> Any:
        if state.active and os.getpid() == state.pid:
            return value
        return original(*args, **kwargs)

    return answer
