"""From resolved settings to what a session needs: axis, side, shape source, operators."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from zlbench.axis import Axis, Side, Switch, make_axis, parse_switches
from zlbench.errors import UsageError

from .source import SourceKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .project import Project
    from .resolve import Resolved

UPSTREAM_WORDS = frozenset({"-", "upstream", "none"})
_MAX_OPS_FILE = 10_000_000


class ShapeMode(str, Enum):
    """Where shapes come from (features R3)."""

    INLINE = "inline"
    FILE = "file"
    UPSTREAM = "upstream"


@dataclass(frozen=True, kw_only=True, slots=True)
class ShapeSource:
    """The shape source that was asked for: `text` for inline, `path` for a file."""

    mode: ShapeMode
    text: str = ""
    path: Path | None = None


def axis_of(resolved: Resolved, project: Project) -> Axis:
    """Put ``--axis``, ``--a``, ``--b``, ``--build``, ``--switch`` and ``--null-test`` together.

    ``--switch`` with no build named compares one build, side A of the axis, with itself: two builds *and* a
    switch are compared only where someone names both builds.

    Raises:
        UsageError: options that contradict each other.
    """
    spec = project.axis(resolved.text("axis"))
    options = resolved.settings
    given_a, given_b, same = (options[name].value if name in options else None for name in ("a", "b", "build"))
    if same and (given_a or given_b):
        raise UsageError("--build is for both sides, --a and --b are for one side each", hint="Drop one of them.")
    switches: tuple[Switch, ...] = spec.switches
    null_test = spec.null_test or ("null_test" in options and resolved.flag("null_test"))
    a, b = given_a or spec.a, given_b or spec.b
    if resolved.value("switch"):
        switches = parse_switches(resolved.texts("switch"))
        if not given_b and resolved.source("axis").kind is not SourceKind.COMMAND_LINE:
            b = a
    if same:
        a = b = same
    elif null_test and not given_b and not spec.null_test:
        b = a
    if null_test and resolved.value("switch"):
        raise UsageError("--null-test wants equal sides, --switch makes them differ", hint="Drop one of them.")
    if null_test:
        switches = ()
    stamps = (*spec.stamps, *(resolved.texts("stamps") if "stamps" in options else ()))
    return make_axis(name=spec.name, a=a, b=b, switches=switches, stamps=stamps, null_test=null_test)


def side_of(resolved: Resolved, project: Project) -> Side:
    """Return the one side that ``run`` measures: ``--build`` or side A of the axis, with fixed switch values.

    Raises:
        UsageError: a switch with no value or with two.
    """
    spec = project.axis(resolved.text("axis"))
    values: list[tuple[str, str | None]] = []
    for text in resolved.texts("switch"):
        name, equals, value = text.partition("=")
        if not equals or "," in value:
            raise UsageError(
                f"run measures one side, switch {text} names two", hint=f"Give one value, such as {name}=1."
            )
        values.append((name, None if value == "unset" else value))
        if value != "unset":
            parse_switches([text])
    return Side(label="A", build=resolved.value("build") or spec.a, switches=tuple(values))


def shape_source_of(resolved: Resolved) -> ShapeSource:
    """Return the shape source; of ``--shapes`` and ``--shape-file`` the one from the stronger source counts.

    Raises:
        UsageError: both are given in one place, or ``--shape-mode`` contradicts them.
    """
    inline = resolved.value("shapes")
    file = resolved.value("shape_file")
    if inline and file:
        ranks = (resolved.source("shapes").kind.rank, resolved.source("shape_file").kind.rank)
        if ranks[0] == ranks[1]:
            raise UsageError("--shapes and --shape-file are both given", hint="Drop one of them.")
        file = None if ranks[0] > ranks[1] else file
    if inline and file is None:
        found = ShapeSource(mode=ShapeMode.INLINE, text=inline)
    elif file and file not in UPSTREAM_WORDS:
        found = ShapeSource(mode=ShapeMode.FILE, path=Path(file).expanduser())
    else:
        found = ShapeSource(mode=ShapeMode.UPSTREAM)
    asked = resolved.value("shape_mode")
    if asked and asked != found.mode.value:
        if asked == ShapeMode.UPSTREAM.value and resolved.source("shape_mode").kind.rank > max(
            resolved.source("shapes").kind.rank, resolved.source("shape_file").kind.rank
        ):
            return ShapeSource(mode=ShapeMode.UPSTREAM)
        need = {"inline": "--shapes", "file": "--shape-file"}.get(asked, "neither --shapes nor --shape-file")
        raise UsageError(
            f"shape-mode is {asked} ({resolved.source('shape_mode')}), the shapes are {found.mode.value}",
            hint=f"shape-mode {asked} goes with {need}.",
        )
    return found


def requests_of(resolved: Resolved) -> tuple[str, ...]:
    """Return the operators asked for by name and by ``--ops-file``; empty with ``--all``.

    Raises:
        UsageError: none, both ``--all`` and names, or an unreadable file.
    """
    names = resolved.texts("ops")
    start = f"nox -s {resolved.command} --"
    ops_file = resolved.path("ops_file")
    if ops_file is not None:
        names += _names_in(ops_file)
    if resolved.flag("all"):
        if names and resolved.source("ops").kind is SourceKind.COMMAND_LINE:
            raise UsageError(f"--all and {names[0]!r} are both given", hint="Drop one of them.")
        return ()
    if not names and not resolved.flag("list"):
        raise UsageError(
            "no operator is named",
            hint=f"Name some: {start} topk fft\nAll of them: {start} --all\nList them: {start} --list",
        )
    return names


def _names_in(path: Path) -> tuple[str, ...]:
    try:
        with path.open(encoding="utf-8") as stream:
            content = stream.read(_MAX_OPS_FILE)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--ops-file {path}: cannot be read ({error})") from error
    names = tuple(word for line in content.splitlines() for word in line.partition("#")[0].split())
    if not names:
        raise UsageError(f"--ops-file {path}: names no operator", hint="One operator a line; # starts a comment.")
    return names


def environment_without_switches(env: Mapping[str, str], axis: Axis) -> dict[str, str]:
    """Return the environment without the declared switches: no leftover of the shell reaches a side."""
    names = {switch.name for switch in axis.switches}
    return {name: value for name, value in env.items() if name not in names}
