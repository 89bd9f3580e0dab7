"""Whether shapes have the form that a benchmark takes, before any row runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zlbench.shapes import shape_text
from zlbench_plugins.seed import seed_all
from zlbench_plugins.shape_adapters.items import ArityError, recorded

# What taking a shape apart raises. Anything else is the row's own affair, such as too little memory.
_TAKING_APART = (ValueError, TypeError, IndexError, KeyError, AttributeError)


def form(shape: Any) -> Any:
    """A shape without its numbers: nesting, length, and where words stand."""
    if isinstance(shape, list | tuple):
        return tuple(form(item) for item in shape)
    return "word" if isinstance(shape, str) else "number"


def check(bench: Any, shapes: Sequence[Any], own: Sequence[Any], dtype: Any, seed: int) -> None:
    """Build one input of every form that the suite's own shapes do not have.

    Raises:
        ArityError: the suite cannot take such a shape apart.
    """
    known = {form(recorded(shape)) for shape in own}
    before = bench.shapes
    for shape in shapes:
        kind = form(recorded(shape))
        if kind in known:
            continue
        known.add(kind)
        bench.shapes = [shape]
        seed_all(seed)
        try:
            next(iter(bench.get_input_iter(dtype)), None)
        except _TAKING_APART as error:
            raise ArityError(f"[{shape_text(plain(recorded(shape)))}] cannot be taken apart: {error}") from error
        except Exception:  # noqa: BLE001, S112 - the row itself will say it
            continue
        finally:
            bench.shapes = before


def example(own: Sequence[Any], description: str) -> str:
    """What the suite's own shapes look like: ``4x1024x1024x1024 (B, M, N, K)``."""
    texts = list(dict.fromkeys(shape_text(plain(recorded(shape))) for shape in own[:3]))
    if not texts:
        return "unknown"
    return " or ".join(texts) + (f" ({description})" if description else "")


def plain(shape: Any) -> Any:
    """A shape as nested tuples, whatever sequences the suite wrote it in."""
    return tuple(plain(item) for item in shape) if isinstance(shape, list | tuple) else shape
