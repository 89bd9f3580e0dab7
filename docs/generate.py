"""Write the reference pages that follow from the code, and the generated parts of README.md.

python docs/generate.py            writes what is out of date
python docs/generate.py --check    writes nothing, ends with 1 if something is out of date
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "plugins"), str(ROOT / "backends")]

from zlbench_backends.compile_only import PROPERTIES  # noqa: E402

from zlbench import backend, caliber  # noqa: E402
from zlbench.cli.main import SUMMARIES  # noqa: E402
from zlbench.errors import ExitCode  # noqa: E402
from zlbench.markers import MARKERS, Kind, Marker, find  # noqa: E402
from zlbench.settings import COMMANDS, OPTIONS, Group, Option  # noqa: E402
from zlbench.settings.option import Arity  # noqa: E402
from zlbench.settings.resolve import shown  # noqa: E402
from zlbench.target import KNOWN_TARGETS  # noqa: E402

_NOTE = "<!-- Made by docs/generate.py; change the code it comes from, then run it again. -->"


OPTIONS_INTRODUCTION = """\
Command line over environment variable over `zlbench.toml` over default. Every value with its source:
`zlbench doctor --explain`. With nox, options come after `--`: `nox -s screen -- mm --level comprehensive`.

A flag is on when it is given; as a variable or key it is `1` or `0`. A key of `zlbench.toml` stands in
`[defaults]`; where the column says so, also in `[caliber.NAME]`, which comes first."""

CALIBER_INTRODUCTION = """\
Every condition that changes what a number means. It is one dataclass, `zlbench/caliber.py`; the identity file,
the guard, columns of `screen.tsv` and this page come from it. Why there is such a thing:
[explanation](../explanation/caliber.md). Conditions of timing belong to measuring on a card and are unset where kernels
are compiled only."""

CALIBER_DIFFERENCE = """\
A difference between the sides that is not the declared axis withdraws the verdict and ends the command with 4;
`--allow-caliber-mismatch` lets it pass and keeps the difference in the output."""

WORDS_INTRODUCTION = """\
Every word in capitals that zlbench prints or writes, and every check. `zlbench explain WORD` prints the same.
Those of timing belong to measuring on a card; a few wait for [what is planned](../explanation/planned.md)."""

EXIT_CODES_ELSEWHERE = """\
The same for every command. The last line that zlbench prints is `exit CODE (word)` for every code but 0, and
`status.json` of a screen holds it as `exit_code`, with a code and the original return code of every cell.

nox itself knows only 0, 1, 2, 3 and 130. Where one session ran, nox ends with zlbench's own code; where several
ran, with 1 if one of them failed.

What to do on each: [how-to](../how-to/exit-codes.md)."""

TARGETS_INTRODUCTION = """\
`--target` says what is compiled for where there is no device; several with commas. `sm_90`, `gfx942` and
`nvidia:90` are understood too. What Triton and the operators ask about the card (shared memory, processors,
clocks) is answered with the properties of one card of the family:"""

BACKENDS_INTRODUCTION = """\
`--backend` is the device family; `auto`, the default, takes a card that is there where every build is an interpreter
with a torch of its own, and else `compile` ([measure on a card](../how-to/use-a-card.md)). `musa`, `rocm` and `ascend`
are declared with parsers of their tools, and nothing has been measured on them yet."""


def pages(root: Path = ROOT) -> dict[Path, str]:
    """Return every generated file with its text."""
    readme = root / "README.md"
    reference = root / "docs" / "reference"
    return {
        reference / "options.md": options_page(),
        reference / "caliber.md": caliber_page(),
        reference / "words.md": words_page(),
        reference / "exit-codes.md": exit_codes_page(),
        reference / "targets.md": targets_page(),
        readme: filled(readme.read_text(encoding="utf-8"), {"caliber": caliber.markdown(), "exit codes": exit_codes()}),
    }


def filled(text: str, parts: Mapping[str, str]) -> str:
    """Replace what stands between `<!-- NAME -->` and `<!-- end of NAME -->`.

    Raises:
        ValueError: the text has no such place.
    """
    for name, part in parts.items():
        place = re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- end of {name} -->)", re.DOTALL)
        if not place.search(text):
            raise ValueError(f"no place for {name}")
        text = place.sub(lambda _, part=part: f"\n{part}\n\n", text)
    return text


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out a Markdown table; a bar inside a cell would start another one."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def options_page() -> str:
    """Every option by group."""
    parts = [
        "# Options",
        _NOTE,
        OPTIONS_INTRODUCTION,
        table(("command", "what it does"), ((f"`{name}`", text) for name, text in SUMMARIES.items())),
    ]
    for group in Group:
        members = [option for option in OPTIONS if option.group is group]
        head = ("option", "of", "default", "variable", "key", "what it is")
        parts += [f"## {_capital(group.value)}", table(head, (_option_row(option) for option in members))]
    return "\n\n".join(parts) + "\n"


def _option_row(option: Option) -> tuple[str, ...]:
    spelled = f"{option.flag} {option.metavar}".rstrip() if option.arity is not Arity.POSITIONAL else option.metavar
    commands = [command for command in COMMANDS if command in option.commands]
    key = f"`{option.key}`" + (", caliber" if option.caliber else "") if option.key else ""
    default = "" if option.default in (None, (), False) else f"`{shown(option.default)}`"
    variables = ", ".join(f"`{name}`" for name in option.env)
    of = "every command" if len(commands) == len(COMMANDS) else ", ".join(commands)
    return (f"`{spelled}`", of, default, variables, key, option.help)


def caliber_page() -> str:
    """The caliber, with what is refused and where it is shown."""
    rows = [
        (
            f"`{name}`",
            f"`{field.metadata['column']}`" if field.metadata["column"] else "",
            "refused" if field.metadata["compared"] else "judged by the rules of record and replay",
        )
        for name, field in caliber.FIELDS.items()
    ]
    parts = [
        "# Caliber",
        _NOTE,
        CALIBER_INTRODUCTION,
        caliber.markdown(),
        "## Where it is shown, and what a difference does",
        CALIBER_DIFFERENCE,
        table(("condition", "column of screen.tsv", "a difference between the sides is"), rows),
    ]
    return "\n\n".join(parts) + "\n"


def words_page() -> str:
    """Every word in capitals and every check, by kind."""
    parts = [
        "# Words",
        _NOTE,
        WORDS_INTRODUCTION,
    ]
    for kind in Kind:
        if kind is not Kind.EXIT:
            members = [marker for marker in MARKERS.values() if marker.kind is kind]
            head = ("word", "cause", "what it means", "next")
            parts += [f"## {_plural(kind.value)}", table(head, (_marker_row(marker) for marker in members))]
    return "\n\n".join(parts) + "\n"


def _plural(kind: str) -> str:
    head, space, rest = kind.partition(" ")
    return _capital(f"{head}s{space}{rest}")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _marker_row(marker: Marker) -> tuple[str, ...]:
    return (f"`{marker.word}`", marker.cause, marker.meaning, marker.next_step)


def exit_codes_page() -> str:
    """Exit codes and where else they are found."""
    parts = [
        "# Exit codes",
        _NOTE,
        exit_codes(),
        EXIT_CODES_ELSEWHERE,
    ]
    return "\n\n".join(parts) + "\n"


def exit_codes() -> str:
    """The table of exit codes."""
    rows = [
        (f"{code.value}", code.label, marker.cause, marker.next_step)
        for code, marker in ((code, find(str(code.value))) for code in ExitCode)
    ]
    return table(("code", "word", "when", "next"), rows)


def targets_page() -> str:
    """Compile targets and backends."""
    targets = [
        (f"`{name}`", card.name, str(lanes), f"{card.shared_bytes // 1024} KiB", str(card.processors))
        for name, lanes, card in ((name, lanes, PROPERTIES[name]) for name, lanes in KNOWN_TARGETS.items())
    ]
    found = [backend.get(name) for name in backend.available()]
    families = [
        (f"`{item.name}`", item.title, ", ".join(f"`{alias}`" for alias in item.aliases),
         ", ".join(timer.value for timer in item.timers))
        for item in found
    ]  # fmt: skip
    parts = [
        "# Targets and backends",
        _NOTE,
        TARGETS_INTRODUCTION,
        table(("target", "stands for", "lanes", "shared memory a block", "processors"), targets),
        BACKENDS_INTRODUCTION,
        table(("backend", "what it is", "aliases", "timers"), families),
    ]
    return "\n\n".join(parts) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Write or check the pages."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, end with 1 if something is out of date")
    check = parser.parse_args(argv).check
    stale = [path for path, text in pages().items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        sys.stdout.write(f"{path.relative_to(ROOT)} {'is out of date' if check else 'written'}\n")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(pages()[path], encoding="utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
