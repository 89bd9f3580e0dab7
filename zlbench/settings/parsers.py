"""From the words a person types to typed values; every parser raises ValueError with a sentence to print."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from zlbench.fail_on import Gate, read_gate
from zlbench.nearest import nearest
from zlbench.target import parse_targets

if TYPE_CHECKING:
    from collections.abc import Callable

DTYPES = ("float16", "float32", "bfloat16", "int16", "int32", "int64", "bool", "complex64")
VERDICTS = (
    "IR_CHANGED", "NO_IR_DIFF", "NO_TRITON", "NO_ROWS", "INCOMPLETE", "CACHE_NOT_FRESH", "NOT_COMPARABLE",
)  # fmt: skip
"""Those of zlbench.judge, which needs the settings' own parsers."""
DTYPE_ALIASES = {
    "fp16": "float16",
    "fp32": "float32",
    "bf16": "bfloat16",
    "half": "float16",
    "float": "float32",
}


def text(word: str) -> str:
    """Return the word itself; an empty one is no value."""
    if not word.strip():
        raise ValueError("it is empty")
    if "\0" in word:
        raise ValueError("it contains a NUL character")
    return word


def flag(word: str) -> bool:
    """1/0, true/false, yes/no, on/off."""
    lowered = word.strip().lower()
    if lowered in ("1", "true", "yes", "on"):
        return True
    if lowered in ("0", "false", "no", "off"):
        return False
    raise ValueError(f"{word!r} is neither 1 nor 0")


def seconds(word: str) -> float:
    """Parse a positive number of seconds."""
    try:
        value = float(word)
    except ValueError:
        raise ValueError(f"{word!r} is not a number of seconds") from None
    if not 0 < value < float("inf"):
        raise ValueError(f"{word!r} is not a positive number of seconds")
    return value


def seconds_or_none(word: str) -> float:
    """Parse a number of seconds from 0 up."""
    return 0.0 if word.strip() in ("0", "0.0") else seconds(word)


def percent(word: str) -> float:
    """Parse a positive percentage below 100, with or without its sign."""
    try:
        value = float(word.strip().removesuffix("%"))
    except ValueError:
        raise ValueError(f"{word!r} is not a percentage") from None
    if not 0 < value < 100:
        raise ValueError(f"{word!r} is not a percentage above 0 and below 100")
    return value


def count(word: str) -> int:
    """Parse a whole number from 1 up."""
    try:
        value = int(word)
    except ValueError:
        raise ValueError(f"{word!r} is not a whole number") from None
    if value < 1:
        raise ValueError(f"{word!r} is less than 1")
    return value


def count_or_none(word: str) -> int:
    """Parse a whole number from 0 up."""
    return 0 if word.strip() == "0" else count(word)


def path(word: str) -> Path:
    """Parse a path; ``~`` is the home directory."""
    return Path(text(word)).expanduser()


def paths(word: str) -> tuple[Path, ...]:
    """Parse paths with commas between them."""
    return tuple(path(part.strip()) for part in word.split(","))


NEWEST = "newest"
"""What an option that names a run directory is without a word."""


def words(word: str) -> tuple[str, ...]:
    """Split at blanks."""
    return tuple(word.split())


def operators(word: str) -> tuple[str, ...]:
    """Split operators at blanks, and at commas where these do not stand between dtypes (``OP:FILE:DTYPES``)."""
    return tuple(name for part in word.split() for name in ([part] if ":" in part else part.split(",")) if name)


def devices(word: str) -> tuple[str, ...]:
    """Split cards, by index or UUID, at commas or blanks; each is named once."""
    names = tuple(word.replace(",", " ").split())
    if not names:
        raise ValueError("it names no card")
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise ValueError(f"card {twice} is named twice")
    return names


def verdicts(word: str) -> tuple[str, ...]:
    """Split verdicts of a screen at commas or blanks."""
    known = one_of(*VERDICTS)
    return tuple(known(name) for name in word.replace(",", " ").split())


def dtypes(word: str) -> tuple[str, ...]:
    """Split data types at blanks or commas; the short names fp16, bf16 and fp32 are understood."""
    names = tuple(DTYPE_ALIASES.get(name, name) for name in word.replace(",", " ").split())
    for name in names:
        if name not in DTYPES:
            raise ValueError(f"no dtype named {name}.{did_you_mean(name, (*DTYPES, *DTYPE_ALIASES))}")
    return names


def targets(word: str) -> tuple[str, ...]:
    """Split compile targets at commas or blanks, such as ``cuda:90,hip:gfx942``."""
    return tuple(str(target) for target in parse_targets(word))


def gate(word: str) -> tuple[Gate, ...]:
    """Parse one threshold such as ``slower>2%``."""
    return (read_gate(word),)


def configs(word: str) -> str:
    """Parse which configs of an autotuned kernel are compiled: ``first``, ``all`` or their number."""
    if word in ("first", "all"):
        return word
    try:
        return str(count(word))
    except ValueError:
        raise ValueError(f"{word!r} is neither first, all nor a number of configs") from None


def several_of(*choices: str) -> Callable[[str], tuple[str, ...]]:
    """Make a parser for words of a closed set with commas or blanks between them."""
    known = one_of(*choices)
    return lambda word: tuple(known(name) for name in word.replace(",", " ").split())


def one_of(*choices: str) -> Callable[[str], str]:
    """Make a parser for a closed set of words."""

    def parse(word: str) -> str:
        if word in choices:
            return word
        raise ValueError(f"{word!r} is none of {', '.join(choices)}.{did_you_mean(word, choices)}")

    return parse


def did_you_mean(word: str, choices: tuple[str, ...]) -> str:
    """Return `` Nearest: …`` or nothing."""
    close = nearest(word, choices)
    return f" Nearest: {', '.join(close)}." if close else f" Known: {', '.join(choices)}."
