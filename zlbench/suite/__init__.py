"""Benchmark suites: which one a directory holds, what is in it, and which benchmark a person's word means."""

from __future__ import annotations

from .inventory import Benchmark, Inventory, read_inventory
from .names import safe_dirname
from .provider import Provider, find_provider
from .resolve import Selection, resolve_all, resolve_operators

__all__ = [
    "Benchmark",
    "Inventory",
    "Provider",
    "Selection",
    "find_provider",
    "read_inventory",
    "resolve_all",
    "resolve_operators",
    "safe_dirname",
]
