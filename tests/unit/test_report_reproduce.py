"""The command that measured: from what a campaign or rounds remember, as somebody can type it again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from zlbench.report.reading.reproduce import commands_of


def setting(words: list[str] | None, source: str = "command line") -> dict[str, Any]:
    return {"words": words, "source": source, "where": ""}


def test_a_campaign_is_one_command(tmp_path: Path) -> None:
    words = {"ops": ["mm", "top k"], "quick": ["--quick"], "rounds": ["--rounds", "2"], "out": ["--out", "/x"]}
    (tmp_path / "campaign.json").write_text(json.dumps({"words": words, "cwd": "/project"}))
    assert commands_of(tmp_path) == ("zlbench campaign mm 'top k' --quick --rounds 2",)


def test_rounds_say_their_settings_as_flags_whatever_set_them(tmp_path: Path) -> None:
    settings = {
        "ops": setting(["mm"]), "dtypes": setting(["float16", "bfloat16"], "environment"),
        "level": setting(["core"], "file"), "configs": setting(["first"], "default"), "quick": setting(["1"]),
        "null_test": setting(["0"]), "shapes": setting(None), "root": setting(["/tmp/r"]), "gone": setting(["1"]),
    }  # fmt: skip
    (tmp_path / "repeat.json").write_text(json.dumps({"settings": settings, "screen": "/s", "cwd": "/"}))
    assert commands_of(tmp_path) == ("zlbench ab_repeat mm --dtypes float16 --dtypes bfloat16 --level core --quick",)


def test_a_screen_that_was_found_is_named_and_paths_start_where_the_call_did(tmp_path: Path) -> None:
    record = {"settings": {"ops": setting([])}, "screen": "/project/runs/screen_1", "cwd": "/project"}
    (tmp_path / "repeat.json").write_text(json.dumps(record))
    assert commands_of(tmp_path) == ("zlbench ab_repeat --screen runs/screen_1",)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"words": 3}', '{"words": {"ops": 3}, "settings": {"ops": 3}}', "nul"]
)
def test_what_is_not_remembered_is_not_guessed(tmp_path: Path, text: str) -> None:
    assert commands_of(tmp_path) == ()
    (tmp_path / "repeat.json").write_text(text)
    (tmp_path / "campaign.json").write_text(text.replace("words", "steps"))
    assert commands_of(tmp_path) == ()
