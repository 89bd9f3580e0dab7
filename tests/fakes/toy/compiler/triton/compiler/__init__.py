"""Where callers find the compiler, as in Triton."""

from .compiler import compile as compile  # noqa: A004
