"""Addresses inside the page: what is looked at stands behind the ``#``."""

from __future__ import annotations

from urllib.parse import urlencode


def address(**keys: str | int) -> str:
    """``#op=mm&row=2``, as the page's script reads it."""
    # A name that is no UTF-8 is written with question marks, here as in the page.
    return "#" + urlencode(keys, errors="replace")
