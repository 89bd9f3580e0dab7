"""Operator names come from people: no name may escape its run directory, reach a shell or break a table."""

from __future__ import annotations

import hashlib
import re

from zlbench.errors import UsageError

MAX_REQUEST = 300
_MAX_DIRNAME = 80
_UNSAFE = re.compile(r"[^A-Za-z0-9._@+-]")


def safe_dirname(name: str) -> str:
    """Return a file name for an operator: one path component, never hidden, at most 96 characters.

    A name that had to be changed gets a digest of the original, so two operators never share a directory.

    >>> safe_dirname("nextafter_@nextafter_")
    'nextafter_@nextafter_'
    >>> safe_dirname("../../x")
    'x-8fd8ef4f3d'
    """
    cleaned = _UNSAFE.sub("_", name).lstrip("._-")[:_MAX_DIRNAME].rstrip(".")
    if cleaned == name and cleaned:
        return cleaned
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{cleaned.strip('_') or 'op'}-{digest}"


def check_request(request: str) -> str:
    """Return the request as typed, or refuse what no operator can be called.

    Raises:
        UsageError: empty, too long, or with control characters.
    """
    word = request.strip()
    if not word:
        raise UsageError("an operator name is empty", hint="List them: nox -s screen -- --list")
    if len(word) > MAX_REQUEST:
        raise UsageError(f"an operator name of {len(word)} characters: {word[:40]}…", hint="At most 300 characters.")
    if not word.isprintable():
        raise UsageError(f"operator name {word!r} contains a control character")
    return word
