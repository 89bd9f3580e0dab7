"""What a command says of an error: in lines of its own, whatever the data in it hold."""

from __future__ import annotations

import pytest

from zlbench.cli.main import main, report_error
from zlbench.errors import NotComparableError, PreflightError, UsageError, ZlbenchError

EVIL = "op\n::error title=x::owned\r::stop-commands::t\x1b[2J\u202e\n##[group]y"


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(NotComparableError(EVIL, hint=EVIL), id="plain"),
        pytest.param(NotComparableError(EVIL, hint=EVIL, marker="ZERO_MATCHED"), id="marker"),
        pytest.param(PreflightError(EVIL, check=EVIL, hint=EVIL), id="preflight"),
        pytest.param(UsageError(f"::{EVIL}"), id="no hint"),
    ],
)
def test_data_in_an_error_gives_no_command(error: ZlbenchError, capsys: pytest.CaptureFixture[str]) -> None:
    code = report_error(error)
    said = capsys.readouterr().err
    assert "owned" in said
    assert not [line for line in said.split("\n") if line.lstrip().startswith("::") or "##[" in line]
    assert all(char.isprintable() for char in said.replace("\n", ""))
    assert said.endswith(f"exit {code} ({error.code.label})\n")


def test_a_word_of_the_command_line_gives_none_either(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["x\n::error::y"], env={}) == 2
    assert not [line for line in capsys.readouterr().err.split("\n") if line.lstrip().startswith("::")]
