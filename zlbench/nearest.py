"""Did-you-mean for every name a person types: operators, options, builds, targets, keys, switches."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], n: int = 3) -> list[str]:
    """Return up to `n` of the known names, most alike first; case is ignored, a shared prefix counts."""
    names = sorted(set(known))
    folded = {name.casefold(): name for name in names}
    close = difflib.get_close_matches(word.casefold(), folded, n=n, cutoff=0.6)
    found = [folded[name] for name in close]
    if len(word) >= 3:
        found += [name for name in names if name.casefold().startswith(word.casefold()) and name not in found]
    return found[:n]


def unknown(kind: str, word: str, known: Iterable[str], *, where: str = "") -> str:
    """Say that `word` names no `kind` and which names come closest.

    >>> unknown("operator", "tpok", ["topk", "fft"], where="in suite builtin")
    'no operator named tpok in suite builtin. Nearest: topk.'
    """
    place = f" {where}" if where else ""
    names = sorted(set(known))
    close = nearest(word, names)
    if close:
        return f"no {kind} named {word}{place}. Nearest: {', '.join(close)}."
    listed = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"no {kind} named {word}{place}. Known: {listed or 'none'}."
