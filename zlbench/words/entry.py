"""What is said of a word."""

from __future__ import annotations

Entry = tuple[str, str, str]
"""Cause, what it means for the numbers, next step. One entry is one paragraph."""
