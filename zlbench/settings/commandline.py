"""The command line, made from the table of options; nothing here ends the process, which may be nox."""

from __future__ import annotations

import argparse
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from zlbench.errors import UsageError
from zlbench.nearest import unknown

from .option import Arity, Group, Option
from .table import COMMANDS, options_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "screen": (
        "topk fft softmax",
        "--all --target cuda:80,cuda:90",
        "mm --build triton-3.6.0 --switch DISABLE_MMA_V3=1",
    ),
    "run": ("softmax", "topk --build triton==3.9.0 --dtypes float16", "mm --shapes 4096x4096x4096 --quick"),
    "build": ("", "triton-3.6.0 triton-3.9.0", "--a triton==3.6.0 --b ./triton/python"),
    "rescore": ("runs/screen_20261129-121500", "runs/screen_x --stamps 'ttg.rlc-*'", "runs/screen_x --json"),
    "doctor": ("", "--explain", "--switch DISABLE_MMA_V3 --explain"),
    "diff": ("fft", "fft --screen runs/screen_20261129-121500", "topk --json"),
    "compare": ("runs/mm_20261129-121500 runs/mm_20261129-121800", "runs/screen_x/mm", "runs/screen_x --json"),
    "partition": ("--devices 0,1,2,3", "runs/screen_x --lanes 2 --rounds 4", "--devices 0,1 --extra-ops mm --dry-run"),
    "ab_repeat": ("", "topk fft --rounds 4", "--screen runs/screen_x --devices 0,1 --until-settled"),
    "campaign": ("topk fft mm --quick", "--all --devices 0,1,2,3", "--resume"),
    "report": ("", "runs/campaign_20261129-121500 --delta 0.5", "runs/softmax_a runs/softmax_b --out report"),
    "status": ("", "runs/campaign_20261129-121500", "--json"),
    "explain": ("IR_CHANGED", "PREFLIGHT_FAILED", "4"),
}
_HELP_WIDTH = 100
# Options of suites that would make other numbers of the same rows.
_REFUSED: Mapping[str, tuple[str, str]] = {
    "--parallel": (
        "--parallel, the suite's own, is refused: what runs on other cards beside a row is part of its time",
        "Measuring is one process at a time. To spread the tuning before it: zlbench run … --parallel-warmup N",
    ),
}


def program_of(command: str, env: Mapping[str, str]) -> str:
    """How a person calls this command: through nox where it was called through nox."""
    return f"nox -s {command} --" if env.get("NOX_CURRENT_SESSION") else f"zlbench {command}"


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageError instead of ending the process; `prog` is how it was called."""

    def error(self, message: str) -> NoReturn:
        """Turn argparse's message into ours."""
        raise UsageError(f"{self.prog.removesuffix(' --')}: {message}", hint=f"See {self.prog} --help")


@dataclass(frozen=True, kw_only=True, slots=True)
class Given:
    """What the command line says: the words for each option by name, and whether help was asked for."""

    words: Mapping[str, tuple[str, ...]]
    help: bool = False


def add_arguments(parser: argparse.ArgumentParser, command: str) -> None:
    """Add the command's options. Only options that are really given appear in the namespace."""
    for option in options_of(command):
        if option.arity is Arity.POSITIONAL:
            parser.add_argument(option.name, nargs="*", default=argparse.SUPPRESS, metavar=option.metavar)
        elif option.arity is Arity.FLAG:
            parser.add_argument(
                option.flag, dest=option.name, action="store_const", const=["1"], default=argparse.SUPPRESS
            )
        else:
            optional: dict[str, Any] = {"nargs": "?", "const": option.bare} if option.arity is Arity.OPTIONAL else {}
            parser.add_argument(
                option.flag,
                dest=option.name,
                action="append",
                **optional,
                default=argparse.SUPPRESS,
                metavar=option.metavar,
            )


def parse_words(command: str, argv: Sequence[str], *, program: str = "") -> Given:
    """Read the command line of one command.

    Args:
        program: how the command was called, for messages; ``zlbench COMMAND`` where it is empty.

    Raises:
        UsageError: an option that this command does not have (the nearest is named), or a missing value.
    """
    if "-h" in argv or "--help" in argv:
        return Given(words={}, help=True)
    program = program or f"zlbench {command}"
    parser = Parser(prog=program, add_help=False, allow_abbrev=False)
    add_arguments(parser, command)
    namespace, extra = parser.parse_known_args(list(argv))
    words = {name: tuple(values) for name, values in vars(namespace).items()}
    positional = next((o for o in options_of(command) if o.arity is Arity.POSITIONAL), None)
    for word in extra:
        # argparse hands back positionals that follow an option; they are meant as all the others.
        if word.startswith("-") and word != "-":
            raise _unknown_option(command, word, program)
        if positional is None:
            raise UsageError(f"{command} takes no {word!r}", hint=f"See {program} --help")
        words[positional.name] = (*words.get(positional.name, ()), word)
    return Given(words={name: values for name, values in words.items() if values})


def _unknown_option(command: str, word: str, program: str) -> UsageError:
    flag = word.partition("=")[0]
    if flag in _REFUSED:
        message, hint = _REFUSED[flag]
        return UsageError(message, hint=hint)
    elsewhere = [other for other in COMMANDS if flag in {option.flag for option in options_of(other)}]
    if elsewhere:
        return UsageError(
            f"{flag} is an option of {', '.join(elsewhere)}, not of {command}", hint=f"See {program} --help"
        )
    flags = [option.flag for option in options_of(command) if option.arity is not Arity.POSITIONAL]
    return UsageError(unknown("option", flag, flags, where=f"in {command}"), hint=f"See {program} --help")


def format_help(command: str, *, summary: str = "", program: str = "") -> str:
    """Return usage, the options people use, where the others are, and three examples."""
    options = options_of(command)
    start = program or f"nox -s {command} --"
    positional = next((f" [{o.metavar} …]" for o in options if o.arity is Arity.POSITIONAL), "")
    parts = [f"usage: {start}{positional} [options]"]
    if summary:
        parts += ["", summary]
    featured = [option for option in options if option.featured]
    if featured:
        parts += ["", "the options people use:", *_lines(featured)]
    for group in Group:
        rest = [option for option in options if option.group is group and not option.featured]
        if rest:
            parts += ["", f"{group.value}:", *_lines(rest)]
    parts += [
        "",
        "Each option can also be set in zlbench.toml or by the variable in brackets.",
        "Every value with its source: zlbench doctor --explain",
        "",
        "examples:",
        *(f"  {start} {example}".rstrip() for example in EXAMPLES.get(command, ())),
    ]
    return "\n".join(parts)


def _lines(options: Sequence[Option]) -> list[str]:
    lines: list[str] = []
    for option in options:
        metavar = f"[{option.metavar}]" if option.arity is Arity.OPTIONAL else option.metavar
        left = option.metavar if option.arity is Arity.POSITIONAL else f"{option.flag} {metavar}".rstrip()
        names = f" [{', '.join(option.env)}]" if option.env else ""
        wrapped = textwrap.wrap(option.help + names, _HELP_WIDTH - 28)
        if len(left) > 24:
            lines.append(f"  {left}")
            left = ""
        lines += [f"  {left if not index else '':<24}  {text}" for index, text in enumerate(wrapped)]
    return lines
