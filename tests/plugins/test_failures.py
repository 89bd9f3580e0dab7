"""The words of a failed row: what an error says first is its reason."""

from __future__ import annotations

import pytest
from zlbench_plugins.failures import FailureKind, classify, one_line


class CompilationError(Exception):
    """By its name, as Triton's."""


COMPILER = """at 48:23:
        tl.store(out_bptr, val)
    else:  # multi index reconstruction
                       ^
Block pointers have been removed
in favor of the tensor descriptor API"""


def test_a_compiler_s_reason_comes_before_its_place_and_without_the_source() -> None:
    error = CompilationError(COMPILER)
    assert one_line(error) == (
        "CompilationError: Block pointers have been removed in favor of the tensor descriptor API (at 48:23)"
    )
    assert classify(error) is FailureKind.COMPILE_ERROR


@pytest.mark.parametrize("text", ["plain", "two\nlines", "a caret at the end\n   ^", ""])
def test_other_messages_stay_whole_on_one_line(text: str) -> None:
    assert one_line(ValueError(text)) == f"ValueError: {' '.join(text.split())}"
