"""The pages say what the code does: generated parts are fresh, commands can be typed, columns and links exist."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from zlbench import backend as backends
from zlbench.axis import parse_switches
from zlbench.caliber import FIELDS, SCREEN_COLUMNS, markdown
from zlbench.cells import CellOutcome
from zlbench.errors import ExitCode
from zlbench.identity import RunIdentity
from zlbench.layout import INDEX_COLUMNS
from zlbench.markers import MARKERS
from zlbench.screen.table import COLUMNS, NEW_COLUMNS
from zlbench.settings import COMMANDS
from zlbench.settings.commandline import EXAMPLES, parse_words
from zlbench.settings.project import AXIS_KEYS, BUILD_KEYS, SECTIONS, load_project
from zlbench.settings.table import OPTIONS, PREDECESSOR_VARIABLES
from zlbench.shapes import load_shape_file
from zlbench.suite.inventory import read_inventory
from zlbench.suite.provider import find_provider

ROOT = Path(__file__).parents[2]
PAGES = sorted(path for name in ("*.md", "docs/**/*.md", "ops/**/*.md", "shapes/*.md") for path in ROOT.glob(name))
REFERENCE = ROOT / "docs" / "reference"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    """Return docs/generate.py as a module."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def name_of(path: Path) -> str:
    """Name a page in a test's id."""
    return str(path.relative_to(ROOT))


def prose(page: Path) -> str:
    """Return a page without code and comments."""
    return re.sub(r"```.*?```|`[^`\n]*`|<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


# Generated pages.


def test_generated_pages_are_up_to_date(generate: ModuleType) -> None:
    stale = [name_of(path) for path, text in generate.pages().items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run python docs/generate.py"


def test_check_tells_stale_pages_and_writes_nothing(
    generate: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("old")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(generate, "pages", lambda: {page: "new"})
    assert generate.main(["--check"]) == 1
    assert capsys.readouterr().out == "page.md is out of date\n"
    assert page.read_text() == "old"
    assert generate.main([]) == 0
    assert page.read_text() == "new"
    assert generate.main(["--check"]) == 0


def test_a_page_without_the_place_is_an_error(generate: ModuleType) -> None:
    with pytest.raises(ValueError, match="no place for caliber"):
        generate.filled("# nothing\n", {"caliber": "| a |"})


def test_the_readme_holds_caliber_and_exit_codes() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert markdown() in readme
    assert all(f"| {code.value} | {code.label} |" in readme for code in ExitCode)


def test_every_option_and_word_has_a_line() -> None:
    options = (REFERENCE / "options.md").read_text(encoding="utf-8")
    words = (REFERENCE / "words.md").read_text(encoding="utf-8")
    assert [option.flag for option in OPTIONS if f"| `{option.flag}" not in options] == []
    assert [word for word in MARKERS if not word[0].isdigit() and f"| `{word}` |" not in words] == []


# Hand-written pages.


@pytest.mark.parametrize(
    "names",
    [
        pytest.param({*COLUMNS, *SCREEN_COLUMNS, *NEW_COLUMNS}, id="screen.tsv"),
        pytest.param(INDEX_COLUMNS, id="index.tsv"),
        pytest.param(
            {item.name for item in fields(RunIdentity)} - {"caliber", "missing", "problems"}, id="run_identity.json"
        ),
        pytest.param({item.name for item in fields(CellOutcome)}, id="result.json"),
    ],
)
def test_every_column_is_described(names: set[str]) -> None:
    text = (REFERENCE / "files.md").read_text(encoding="utf-8")
    assert [name for name in names if f"`{name}`" not in text] == []


def test_every_key_of_the_project_file_is_described() -> None:
    text = (REFERENCE / "zlbench-toml.md").read_text(encoding="utf-8")
    assert [key for key in (*BUILD_KEYS, *AXIS_KEYS) if f"`{key}`" not in text] == []
    assert all(f"## `[{section}" in text for section in SECTIONS)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)", prose(page))
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []


def test_every_page_can_be_reached_from_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if page != "README.md" and f"({page})" not in index] == []


def commands_in(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield commands of zlbench that a page tells people to type: sub-command and words."""
    code = re.findall(r"^(?: {4,}|\$ )(.*)$", text, re.MULTILINE) + re.findall(r"`([^`\n]+)`", text)
    # What follows a wide gap is a remark beside the command.
    for line in (re.split(r"\s{3,}", entry.strip().removeprefix("$ "))[0] for entry in code):
        found = re.search(r"(?:(?:nox|noxfile\.py) (?:.* )?-s (\S+)(?: -- (.*))?|^zlbench ([a-z]+)(?: (.*))?)$", line)
        if found:
            command = (found[1] or found[3]).strip('"').partition("(")[0]
            if command in COMMANDS:
                yield command, shlex.split(found[2] or found[4] or "")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_of_a_page_can_be_typed(page: Path) -> None:
    for command, words in commands_in(page.read_text(encoding="utf-8")):
        given = parse_words(command, words)
        parse_switches(given.words.get("switch", ()))


def test_pages_show_commands_at_all() -> None:
    found = [command for page in PAGES for command, _ in commands_in(page.read_text(encoding="utf-8"))]
    assert len(found) > 40
    assert set(found) == set(COMMANDS)


@pytest.mark.parametrize("command", EXAMPLES)
def test_examples_of_help_can_be_typed(command: str) -> None:
    for example in EXAMPLES[command]:
        parse_words(command, shlex.split(example))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_words_in_capitals_exist(page: Path) -> None:
    known = {*MARKERS, *PREDECESSOR_VARIABLES, *(name for option in OPTIONS for name in option.env)}
    known |= {name for family in backends.available().values() for name in family.visibility}
    known |= {"KNOWN_TARGETS", "KNOWN_STAMPS", "PROPERTIES", "OPERATORS", "BACKEND", "ZL_TEST_CARD"}
    words = re.findall(r"`([A-Z]{2,}(?:_[A-Z]+)+)", page.read_text(encoding="utf-8"))
    others = re.compile(r"(?:TRITON|PIP|ZLBENCH|DISABLE|FLAGTREE)_\w+")
    assert [word for word in words if word not in known and not others.fullmatch(word)] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_tone_is_calm(page: Path) -> None:
    assert "!" not in prose(page).replace("![", "[")  # an image is no shout


def test_blocks_of_toml_load(tmp_path: Path) -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    blocks = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        (tmp_path / "zlbench.toml").write_text(block, encoding="utf-8")
        assert load_project(tmp_path, {}).file is not None


def test_examples_of_the_project_file_load_once_their_sign_is_taken_away(tmp_path: Path) -> None:
    lines = (ROOT / "zlbench.toml").read_text(encoding="utf-8").splitlines()
    example = re.compile(r"# (\[(?:build|axis|caliber)\.[^\]]+\]|[a-z_]+ = .*)")
    text = "\n".join(found[1] if (found := example.match(line)) else line for line in lines)
    (tmp_path / "zlbench.toml").write_text(text, encoding="utf-8")
    axes = load_project(tmp_path, {}).axes
    assert axes["rlc"].stamps == ("ttg.rlc-*",)
    assert [str(switch) for switch in axes["rlc"].switches] == ["FLAGTREE_MUSA_RLC_ENHANCE 0 → 1"]
    assert [str(switch) for switch in axes["sparse-tle"].switches] == ["FLAGGEMS_FLASHMLA_SPARSE_TLE 0 → 1"]
    assert {(axes[name].a, axes[name].b) for name in ("wheels", "trees")} == {("before", "after"), ("main", "branch")}


# Data that people are pointed to.


@pytest.mark.parametrize("path", sorted((ROOT / "shapes").glob("*.yaml")), ids=name_of)
def test_a_shape_set_fits_the_embedded_suite(path: Path) -> None:
    provider = find_provider("builtin", cwd=ROOT)
    sets = load_shape_file(path, known=read_inventory(provider).shape_keys())
    ours = yaml.safe_load(path.read_text(encoding="utf-8"))
    suite = yaml.safe_load((provider.benchmark_dir / "core_shapes.yaml").read_text(encoding="utf-8"))
    for op, shapes in sets.items():
        described = ours[op]["shape_desc"]
        assert described == suite[op]["shape_desc"]
        assert {len(shape) for shape in shapes.shapes} == {len(described.split(","))}


@pytest.mark.parametrize("path", sorted((ROOT / "shapes" / "flaggems").glob("*.yaml")), ids=name_of)
def test_a_shape_set_for_flaggems_says_what_its_numbers_are(path: Path) -> None:
    described = yaml.safe_load(path.read_text(encoding="utf-8"))
    for op, shapes in load_shape_file(path).items():
        assert {len(shape) for shape in shapes.shapes} == {len(described[op]["shape_desc"].split(","))}


def test_the_caliber_table_of_the_docs_has_every_condition() -> None:
    text = (REFERENCE / "caliber.md").read_text(encoding="utf-8")
    assert [name for name in FIELDS if text.count(f"| `{name}` |") != 2] == []
