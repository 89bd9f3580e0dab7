"""Gradients without Torch's own engine, which asks for streams of a device that is not there.

The graph that the forward pass left is walked in the same order as the engine would: each node is called with the sum
of what its successors sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zlbench_plugins._patch import PatchSet


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, *_: object, **__: object) -> tuple[Any, ...]:
    """Stand in for `torch.autograd.grad`: gradients of `outputs` with respect to `inputs`, once, not differentiable."""
    import torch

    outs, wanted = _sequence(outputs), _sequence(inputs)
    sent = _sequence(grad_outputs) if grad_outputs is not None else [torch.ones_like(out) for out in outs]
    edges = [(out.grad_fn, out.output_nr) for out in outs]
    leaves = [_edge(tensor) for tensor in wanted]
    buffers: dict[Any, dict[int, Any]] = {}
    found: dict[int, Any] = {}
    for (node, number), gradient in zip(edges, sent, strict=True):
        _add(buffers.setdefault(node, {}), number, gradient)
    with torch.no_grad():
        for node in _order([node for node, _ in edges]):
            received = buffers.pop(node, {})
            for place, (leaf, number) in enumerate(leaves):
                if leaf is node and number in received:
                    found[place] = received[number]
            if not received or type(node).__name__ == "AccumulateGrad":
                continue
            width = max(*received, len(getattr(node, "_input_metadata", ())) - 1) + 1
            results = node(*(received.get(number) for number in range(width)))
            for (successor, number), gradient in zip(node.next_functions, _sequence(results), strict=False):
                if successor is not None and gradient is not None:
                    _add(buffers.setdefault(successor, {}), number, gradient)
    return tuple(found.get(place) for place in range(len(wanted)))


def install(patches: PatchSet) -> None:
    """Replace `torch.autograd.grad` in this process."""
    import torch

    patches.set(torch.autograd, "grad", grad)


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else (value,)


def _edge(tensor: Any) -> tuple[Any, int]:
    """Node and place at which the gradient of a tensor arrives: its own, or that of a leaf."""
    if tensor.grad_fn is not None:
        return tensor.grad_fn, tensor.output_nr
    # A leaf's node is reachable only through something made of the leaf.
    return tensor.view_as(tensor).grad_fn.next_functions[0]  # type: ignore[no-any-return]


def _add(buffer: dict[int, Any], number: int, gradient: Any) -> None:
    buffer[number] = gradient if buffer.get(number) is None else buffer[number] + gradient


def _order(roots: Sequence[Any]) -> list[Any]:
    """Nodes so that each comes before those that it sends to."""
    done: list[Any] = []
    seen: set[Any] = set()
    stack = [(root, False) for root in roots]
    while stack:
        node, finished = stack.pop()
        if finished:
            done.append(node)
        elif node is not None and node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((successor, False) for successor, _ in node.next_functions)
    return done[::-1]
