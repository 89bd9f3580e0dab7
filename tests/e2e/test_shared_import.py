"""A suite is imported once for all cells of a card, unless its import opens the card: then by each cell anew."""

from __future__ import annotations

import os

import pytest
from fakes.fake_card import FakeCards
from fakes.suites import ToyProject, data


@pytest.mark.parametrize("opens", [False, True])
def test_cells_measure_whether_or_not_the_import_opens_the_card(project: ToyProject, opens: bool) -> None:
    cards = FakeCards(project.root / "cards")
    project.table(opens_card=opens)
    imports = project.root / "imports"
    (project.suite / "src" / "toygems" / "counted.py").write_text(
        f"import os\nwith open({os.fspath(imports)!r}, 'a') as stream:\n    stream.write(f'{{os.getpid()}}\\n')\n"
    )
    package = project.suite / "src" / "toygems" / "__init__.py"
    package.write_text(package.read_text() + "\nfrom toygems import counted  # noqa\n")
    ended = project.run("screen", "toy", "other", "--backend", "fakecard", env={"PYTHONPATH": cards.pythonpath()})
    assert ended.code == 0, ended.text
    verdicts = {item["op"]: item["verdict"] for item in data(project.screen / "screen.json")["operators"]}
    assert verdicts == {"toy": "IR_CHANGED", "other": "IR_CHANGED"}
    measured = {line["pid"] for line in project.journal()}
    importing = {int(line) for line in imports.read_text().split()}
    assert len(measured) == 4
    assert (measured <= importing) == opens
