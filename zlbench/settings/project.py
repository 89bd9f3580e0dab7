"""The model of ``zlbench.toml``: builds, axes, calibers and defaults, every key optional.

`nox -l` reads it to name its sessions, so loading stays within a few milliseconds and imports little.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zlbench.axis import Switch, parse_switches
from zlbench.errors import UsageError
from zlbench.nearest import unknown

from .option import Arity, Option
from .request import UPSTREAM_WORDS
from .table import caliber_options, default_options
from .tomlfile import TomlFile, read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from zlbench.builds.spec import Build

FILE_NAME = "zlbench.toml"
SECTIONS = ("build", "axis", "caliber", "defaults")
BUILD_KEYS: Mapping[str, type] = {
    "requirement": str, "wheel": str, "python": str, "tree": str, "torch": str, "packages": list, "env": dict,
}  # fmt: skip
BUILD_KINDS = ("requirement", "wheel", "python", "tree")
AXIS_KEYS: Mapping[str, type | tuple[type, ...]] = {
    "a": str, "b": str, "build": str, "switch": (str, list), "values": list,
    "stamps": (str, list), "null_test": bool,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class AxisSpec:
    """``[axis.NAME]``: the builds of both sides by name or text, and the switches."""

    name: str
    a: str
    b: str
    switches: tuple[Switch, ...] = ()
    stamps: tuple[str, ...] = ()
    null_test: bool = False
    where: str = "built in"


@dataclass(frozen=True, kw_only=True, slots=True)
class CaliberSpec:
    """``[caliber.NAME]``: values for the options that belong to a caliber, and where each stands."""

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """One checkout's settings: what the file says on top of what is built in.

    Args:
        root: directory that relative paths in the file refer to.
        file: the file read, or None where there is none.
        builds: the tables ``[build.NAME]`` as written; `known_builds` turns them to Build values.
    """

    root: Path
    file: Path | None
    builds: Mapping[str, Mapping[str, Any]]
    axes: Mapping[str, AxisSpec]
    calibers: Mapping[str, CaliberSpec]
    defaults: CaliberSpec

    def axis(self, name: str) -> AxisSpec:
        """Return the axis of this name, or raise UsageError naming the nearest."""
        if name not in self.axes:
            raise UsageError(unknown("axis", name, self.axes, where=self._place), hint=self._add("axis"))
        return self.axes[name]

    def caliber(self, name: str) -> CaliberSpec:
        """Return the caliber of this name, or raise UsageError naming the nearest."""
        if name not in self.calibers:
            raise UsageError(unknown("caliber", name, self.calibers, where=self._place), hint=self._add("caliber"))
        return self.calibers[name]

    def known_builds(self) -> dict[str, Build]:
        """Return every build of the file and of the built-in three."""
        return {name: self._build(name, table) for name, table in self.builds.items()}

    def _build(self, name: str, table: Mapping[str, Any]) -> Build:
        from zlbench.builds.spec import Build, BuildKind, tree_root

        tree, wheel, python = ((self.root / Path(table[key]).expanduser()) if key in table else None
                               for key in ("tree", "wheel", "python"))  # fmt: skip
        requirement = str(wheel) if wheel else table.get("requirement")
        kind = BuildKind.TREE if tree else BuildKind.WHEEL if requirement else BuildKind.INTERPRETER
        given = {"torch": table["torch"]} if "torch" in table else {}
        return Build(
            name=name,
            kind=kind,
            requirement=requirement,
            python=python,
            # A tree that is not there yet is a fault only of a run that asks for it.
            tree=tree_root(tree, str(table["tree"])) if tree and tree.is_dir() else tree,
            packages=tuple(table.get("packages", ())),
            env=table.get("env", {}),
            **given,
        )

    @property
    def _place(self) -> str:
        return f"in {self.file.name}" if self.file else "built in"

    def _add(self, section: str) -> str:
        return f"Add [{section}.NAME] to {self.file or self.root / FILE_NAME}."


BUILTIN_BUILDS: Mapping[str, Mapping[str, Any]] = {
    f"triton-{version}": {"requirement": f"triton=={version}"} for version in ("3.6.0", "3.7.1", "3.9.0")
}
# triton 3.9.0 has no wheel for Python 3.10. Both pairs show both kinds of verdict on the embedded suite.
DEFAULT_PAIR = ("triton-3.6.0", "triton-3.9.0" if sys.version_info >= (3, 11) else "triton-3.7.1")
BUILTIN_AXES: Mapping[str, AxisSpec] = {
    "releases": AxisSpec(name="releases", a=DEFAULT_PAIR[0], b=DEFAULT_PAIR[1]),
}
BUILTIN_CALIBERS: Mapping[str, CaliberSpec] = {"default": CaliberSpec(name="default")}


def load_project(root: Path, env: Mapping[str, str]) -> Project:
    """Read ``zlbench.toml`` of `root` (or the file that ZLBENCH_TOML names) over the built-in values.

    Raises:
        UsageError: malformed, an unknown key (with the nearest valid one) or a value of the wrong type.
    """
    named = env.get("ZLBENCH_TOML", "").strip()
    path = Path(named).expanduser() if named else root / FILE_NAME
    if not named and not path.is_file():
        return Project(
            root=root, file=None, builds=BUILTIN_BUILDS, axes=BUILTIN_AXES, calibers=BUILTIN_CALIBERS,
            defaults=CaliberSpec(name="defaults"),
        )  # fmt: skip
    return project_from(read_toml(path.absolute()))


def project_from(source: TomlFile) -> Project:
    """Check a parsed file and make the model."""
    for section in source.data:
        if section not in SECTIONS:
            raise UsageError(f"{source.at(section)}: {unknown('section', section, SECTIONS)}")
    builds = {name: _build(source, name, table) for name, table in _tables(source, "build").items()}
    axes = {name: _axis(source, name, table) for name, table in _tables(source, "axis").items()}
    calibers = {
        name: _values(source, name, f"caliber.{name}", table, caliber_options())
        for name, table in _tables(source, "caliber").items()
    }
    defaults = source.data.get("defaults", {})
    if not isinstance(defaults, dict):
        raise UsageError(f"{source.at('', 'defaults')}: defaults is not a table", hint="Write [defaults].")
    return Project(
        root=source.path.parent,
        file=source.path,
        builds={**BUILTIN_BUILDS, **builds},
        axes={**BUILTIN_AXES, **axes},
        calibers={**BUILTIN_CALIBERS, **calibers},
        defaults=_values(source, "defaults", "defaults", defaults, default_options()),
    )


def _tables(source: TomlFile, section: str) -> dict[str, dict[str, Any]]:
    tables = source.data.get(section, {})
    if not isinstance(tables, dict):
        raise UsageError(f"{source.at('', section)}: {section} is not a table", hint=f"Write [{section}.NAME].")
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise UsageError(
                f"{source.at(section, name)}: {section}.{name} is not a table",
                hint=f"Write [{section}.NAME].",
            )
    return tables


def _check(source: TomlFile, section: str, table: dict[str, Any], keys: Mapping[str, Any]) -> None:
    for key, value in table.items():
        if key not in keys:
            raise UsageError(f"{source.at(section, key)}: {unknown('key', key, keys, where=f'in [{section}]')}")
        wanted = keys[key]
        if isinstance(wanted, (type, tuple)) and not isinstance(value, wanted):
            names = " or ".join(kind.__name__ for kind in (wanted if isinstance(wanted, tuple) else (wanted,)))
            raise _wrong_type(source, section, key, value, names)


def _wrong_type(source: TomlFile, section: str, key: str, value: object, wanted: str) -> UsageError:
    words = {"str": "a string", "list": "a list", "dict": "a table", "bool": "true or false"}
    spelled = " or ".join(words.get(name, name) for name in wanted.split(" or "))
    return UsageError(
        f"{source.at(section, key)}: [{section}] {key} is {type(value).__name__} {value!r}, wanted {spelled}"
    )


def _strings(source: TomlFile, section: str, key: str, value: object) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    for item in items:
        if not isinstance(item, str):
            raise _wrong_type(source, section, key, item, "str")
    return tuple(items)


def _build(source: TomlFile, name: str, table: dict[str, Any]) -> Mapping[str, Any]:
    section = f"build.{name}"
    _check(source, section, table, BUILD_KEYS)
    kinds = [key for key in BUILD_KINDS if key in table]
    if not kinds:
        raise UsageError(
            f"{source.at(section)}: [{section}] says not what the build is",
            hint=f"Give one of {', '.join(BUILD_KINDS)}.",
        )
    if {"requirement", "wheel"} <= set(kinds):
        raise UsageError(
            f"{source.at(section, 'wheel')}: [{section}] gives both requirement and wheel",
            hint="A build has one origin; make two builds of it.",
        )
    _strings(source, section, "packages", table.get("packages", []))
    for variable, value in table.get("env", {}).items():
        if not isinstance(value, str):
            raise _wrong_type(source, section, f"env.{variable}", value, "str")
    return table


def _axis(source: TomlFile, name: str, table: dict[str, Any]) -> AxisSpec:
    section = f"axis.{name}"
    _check(source, section, table, AXIS_KEYS)
    base = BUILTIN_AXES["releases"]
    if "build" in table and ("a" in table or "b" in table):
        raise UsageError(
            f"{source.at(section, 'build')}: [{section}] gives build as well as a or b",
            hint="build is for both sides; a and b are for one side each.",
        )
    same = table.get("build")
    texts = list(_strings(source, section, "switch", table.get("switch", [])))
    if "values" in table:
        values = _strings(source, section, "values", table["values"])
        if len(texts) != 1 or "=" in texts[0] or len(values) != 2:
            raise UsageError(
                f"{source.at(section, 'values')}: [{section}] values is two values for one switch",
                hint='Write switch = "NAME" and values = ["0", "1"], or switch = "NAME=0,1".',
            )
        texts = [f"{texts[0]}={values[0]},{values[1]}"]
    try:
        switches = parse_switches(texts)
    except UsageError as error:
        raise UsageError(f"{source.at(section, 'switch')}: {error.message}", hint=error.hint) from error
    return AxisSpec(
        name=name,
        # A switch alone compares one build with itself.
        a=same or table.get("a", base.a),
        b=same or table.get("b", table.get("a", base.a) if switches else base.b),
        switches=switches,
        stamps=_strings(source, section, "stamps", table.get("stamps", [])),
        null_test=table.get("null_test", False),
        where=source.at(section),
    )


def _values(
    source: TomlFile, name: str, section: str, table: dict[str, Any], options: Mapping[str, Option]
) -> CaliberSpec:
    """Parse each value with its option's own parser: the file may say what the command line may, no more."""
    _check(source, section, table, options)
    values: dict[str, Any] = {}
    where: dict[str, str] = {}
    for key, value in table.items():
        option = options[key]
        where[option.name] = f"{source.path.name}:{section}.{key}"
        try:
            values[option.name] = _anchored(source, option, _value(option, value))
        except ValueError as error:
            raise UsageError(f"{source.at(section, key)}: [{section}] {key}: {error}") from error
    return CaliberSpec(name=name, values=values, where=where)


def _anchored(source: TomlFile, option: Option, value: object) -> object:
    """A shape file is looked for beside the file that names it, wherever the command is called."""
    if option.name != "shape_file" or value in UPSTREAM_WORDS:
        return value
    return str(source.path.parent / Path(str(value)).expanduser())


def _value(option: Option, value: object) -> object:
    if isinstance(value, bool):
        words = ["1" if value else "0"]
    elif isinstance(value, (str, int, float)):
        words = [str(value)]
    elif isinstance(value, list) and option.arity is not Arity.ONE and all(isinstance(item, str) for item in value):
        words = value
    else:
        raise ValueError(f"{value!r} has the wrong type ({type(value).__name__})")
    if option.arity in (Arity.ONE, Arity.FLAG):
        return option.parse(words[0])
    return tuple(item for word in words for item in option.parse(word))
