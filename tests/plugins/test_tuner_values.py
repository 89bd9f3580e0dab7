"""Keys and configs as JSON: the same text everywhere, and back to what they were."""

from __future__ import annotations

import json
import math
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zlbench_plugins.tuner_values import (
    UnknownConfigError,
    canonical,
    decode,
    encode,
    encode_config,
    encode_key,
    in_short,
    resolve,
)

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(PLAIN, inner))


class Config:
    """As Triton's."""

    def __init__(self, kwargs, num_warps=4, num_stages=3, maxnreg=None, pre_hook=None) -> None:
        self.kwargs, self.num_warps, self.num_stages = kwargs, num_warps, num_stages
        self.maxnreg, self.pre_hook = maxnreg, pre_hook


class WiderConfig(Config):
    """As a fork's, with one field more."""

    def __init__(self, kwargs, num_warps=4, num_stages=3, maxnreg=None, pre_hook=None, ctas=None) -> None:
        super().__init__(kwargs, num_warps, num_stages, maxnreg, pre_hook)
        self.ctas = ctas


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


@given(VALUES)
def test_a_value_comes_back_from_json_as_it_was(value: Any) -> None:
    back = decode(through_json(encode(value)))
    assert back == value
    assert repr(back) == repr(value)  # a tuple stays a tuple, True stays True


@given(st.lists(PLAIN))
def test_a_key_has_one_text(key: list[Any]) -> None:
    assert canonical(encode_key(tuple(key))) == canonical(through_json(encode_key(key)))


@given(st.dictionaries(st.text(), VALUES), st.integers(1, 32), st.none() | st.integers(1, 255))
def test_a_config_comes_back_from_json_as_it_was(kwargs: dict[str, Any], warps: int, registers: int | None) -> None:
    recorded = through_json(encode_config(Config(kwargs, num_warps=warps, maxnreg=registers)))
    made = resolve(recorded, hook=False, configs=[], config_class=Config, spare=None)
    assert vars(made) == vars(Config(kwargs, num_warps=warps, maxnreg=registers))


def test_numbers_of_other_kinds_are_numbers() -> None:
    class Warps(IntEnum):
        FOUR = 4

    assert canonical(encode_key((Warps.FOUR, math.inf))) == '[4,{"float":"inf"}]'


def test_what_json_has_no_word_for_is_described_without_its_address() -> None:
    class Strange:
        pass

    assert encode(Strange()) == encode(Strange())
    tensor = SimpleNamespace(shape=(2, 3), dtype="torch.float16")
    assert encode(tensor) == {"text": "SimpleNamespace torch.float16 (2, 3)"}
    with pytest.raises(UnknownConfigError, match="cannot be made from its description"):
        decode(through_json(encode(Strange())))


def test_a_config_of_the_tuner_is_taken_with_its_hook() -> None:
    hooks = [lambda _: 1, lambda _: 2]
    configs = [Config({"B": 16}, pre_hook=hooks[0]), Config({"B": 32}, pre_hook=hooks[1]), Config({"B": 32})]
    for wanted in configs:
        recorded = through_json(encode_config(wanted))
        found = resolve(
            recorded, hook=wanted.pre_hook is not None, configs=configs, config_class=Config, spare=None
        )  # fmt: skip
        assert found is wanted


def test_a_config_that_the_tuner_made_up_gets_the_hook_that_all_share() -> None:
    def hook(_: Any) -> None:
        pass

    recorded = encode_config(Config({"B": 48}))
    configs = [Config({"B": 16}, pre_hook=hook), Config({"B": 32}, pre_hook=hook)]
    assert resolve(recorded, hook=True, configs=configs, config_class=Config, spare=None).pre_hook is hook
    assert resolve(recorded, hook=True, configs=[], config_class=Config, spare=hook).pre_hook is hook
    assert resolve(recorded, hook=False, configs=configs, config_class=Config, spare=None).pre_hook is None
    configs[0].pre_hook = lambda _: 1
    with pytest.raises(UnknownConfigError, match="its pre_hook is lost: 2 hooks to choose from"):
        resolve(recorded, hook=True, configs=configs, config_class=Config, spare=None)


def test_between_tritons_only_what_is_set_counts() -> None:
    wide, narrow = WiderConfig({"B": 16}), Config({"B": 16})
    assert in_short(encode_config(wide)) == in_short(encode_config(narrow))
    for recorded, live, cls in ((wide, narrow, Config), (narrow, wide, WiderConfig)):
        found = resolve(encode_config(recorded), hook=False, configs=[live], config_class=cls, spare=None)
        assert found is live
    set_one = WiderConfig({"B": 16}, ctas=(2, 1))
    assert (
        resolve(encode_config(narrow), hook=False, configs=[set_one], config_class=WiderConfig, spare=None)
        is not set_one
    )
    again = resolve(through_json(encode_config(set_one)), hook=False, configs=[], config_class=WiderConfig, spare=None)
    assert again.ctas == (2, 1)
    with pytest.raises(UnknownConfigError, match="Config has no ctas"):
        resolve(encode_config(set_one), hook=False, configs=[narrow], config_class=Config, spare=None)
