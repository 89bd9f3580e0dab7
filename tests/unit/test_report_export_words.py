"""The files of a report and the words that ask for them."""

from __future__ import annotations

import pytest

from zlbench.report.outputs import EXPORTS
from zlbench.settings.table import BY_NAME


def test_the_words_of_export_are_those_that_write_a_file() -> None:
    """The table of settings imports no report, so that it has the words once more."""
    option = BY_NAME["export"]
    assert option.parse is not None
    assert option.parse(",".join(EXPORTS)) == EXPORTS
    with pytest.raises(ValueError, match="none of") as caught:
        option.parse("never a word of it")
    accepted = str(caught.value).partition("is none of ")[2].partition(".")[0]
    assert tuple(accepted.split(", ")) == EXPORTS
    assert option.help.partition(";")[0] == f"further files: {', '.join(EXPORTS)}"
