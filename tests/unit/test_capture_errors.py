"""What an error costs: told by exact words, never by the hints below them, and checked by asking the card."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.fake_timing import HINTS, ILLEGAL, INVALID, POISONED, REFUSED
from zlbench_plugins.capture_errors import (
    CapturePoisonedError,
    DeviceLostError,
    Phase,
    Severity,
    raise_if_unusable,
    reason,
    severity,
)

from zlbench import backend as backends

CUDA = backends.get("cuda")
ASSERT = "CUDA error: device-side assert triggered"


def chain(*texts: str) -> BaseException:
    """Errors of which each was raised while the one before was handled; the last is what arrives."""
    arrived: BaseException | None = None
    for text in texts:
        error = RuntimeError(text)
        error.__context__ = arrived
        arrived = error
    assert arrived is not None
    return arrived


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (ILLEGAL, Severity.FATAL),
        (ASSERT, Severity.FATAL),
        ("CUDA error: misaligned address", Severity.FATAL),
        ("CUDA error: unspecified launch failure", Severity.FATAL),
        ("Triton Error [CUDA]: an illegal memory access was encountered", Severity.FATAL),
        (REFUSED, Severity.CAPTURE),
        (INVALID, Severity.CAPTURE),
        ("Triton Error [CUDA]: operation not permitted when stream is capturing", Severity.CAPTURE),
        ("Cannot copy between CPU and CUDA tensors during CUDA graph capture unless it is pinned", Severity.CAPTURE),
        (POISONED, Severity.POISONED),
        ("CUDA error: out of memory", Severity.OTHER),
        ("CUDA error: invalid argument", Severity.OTHER),
        ("enable device-side assertions", Severity.OTHER),
        ("", Severity.OTHER),
    ],
)
@pytest.mark.parametrize("hints", ["", HINTS], ids=["bare", "hints"])
def test_severity(text: str, found: Severity, hints: str) -> None:
    assert severity(CUDA, RuntimeError(text + hints)) is found


def test_a_wording_inside_a_hint_says_nothing() -> None:
    assert severity(CUDA, RuntimeError(f"CUDA error: invalid argument\n  For debugging consider passing {ASSERT}")) is (
        Severity.OTHER
    )


def test_a_family_without_wordings_knows_no_kinds() -> None:
    bare = replace(CUDA, fatal_errors=(), capture_errors=(), poison_errors=(), error_hints=())
    assert severity(bare, RuntimeError(ILLEGAL)) is Severity.OTHER


def test_the_worst_of_a_chain_counts() -> None:
    assert severity(CUDA, chain(ILLEGAL, REFUSED, "ended")) is Severity.FATAL


def test_a_chain_that_bites_its_tail_ends() -> None:
    one, two = RuntimeError("one"), RuntimeError("two")
    one.__context__, two.__context__ = two, one
    assert severity(CUDA, one) is Severity.OTHER


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ((REFUSED + HINTS, INVALID + HINTS), REFUSED),
        (("no wording at all", INVALID + HINTS), INVALID),
        (("first", "last\n  over two lines"), "last over two lines"),
    ],
)
def test_the_reason_is_the_first_telling_error(texts: tuple[str, ...], said: str) -> None:
    assert reason(CUDA, chain(*texts)) == f"RuntimeError: {said}"


class TestUnusable:
    def test_a_card_that_answers_is_not_lost_whatever_the_words(self) -> None:
        raise_if_unusable(CUDA, RuntimeError(ASSERT), lambda: None, phase=None)

    def test_an_ordinary_error_on_a_card_that_answers(self) -> None:
        raise_if_unusable(CUDA, RuntimeError("shapes do not match"), lambda: None, phase=Phase.CAPTURE)

    def test_lost_by_the_words_of_the_error(self) -> None:
        with pytest.raises(DeviceLostError, match="assert triggered"):
            raise_if_unusable(CUDA, RuntimeError(ASSERT), lambda: RuntimeError("no"), phase=Phase.CAPTURE)

    def test_lost_by_the_words_of_the_answer(self) -> None:
        with pytest.raises(DeviceLostError, match="illegal"):
            raise_if_unusable(CUDA, RuntimeError(INVALID), lambda: RuntimeError(ILLEGAL), phase=Phase.REPLAY)

    @pytest.mark.parametrize("phase", [None, Phase.WARMUP])
    def test_lost_where_no_capture_can_be_the_reason(self, phase: Phase | None) -> None:
        with pytest.raises(DeviceLostError):
            raise_if_unusable(CUDA, RuntimeError("odd"), lambda: RuntimeError("silent"), phase=phase)

    def test_poisoned_where_a_capture_can_be(self) -> None:
        with pytest.raises(CapturePoisonedError, match=r"odd; then .*silent") as poisoned:
            raise_if_unusable(CUDA, RuntimeError("odd"), lambda: RuntimeError("silent"), phase=Phase.CAPTURE)
        assert str(poisoned.value.__cause__) == "odd"

    def test_poisoned_by_words_although_the_card_answers(self) -> None:
        with pytest.raises(CapturePoisonedError):
            raise_if_unusable(CUDA, RuntimeError(POISONED), lambda: None, phase=None)

    def test_never_poisoned_where_nothing_was_captured(self) -> None:
        raise_if_unusable(CUDA, RuntimeError(POISONED), lambda: None, phase=None, captured=False)
