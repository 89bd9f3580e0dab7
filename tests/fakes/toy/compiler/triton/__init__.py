"""A toy compiler: emits a few lines of TTGIR and tells about it through the hooks that Triton has."""

from pathlib import Path

from . import knobs as knobs

__version__, NAME, PASSES = Path(__file__).with_name("release.txt").read_text().split("\n")[:3]

before_compile = None
"""Called with the source of every variant that is really compiled."""
