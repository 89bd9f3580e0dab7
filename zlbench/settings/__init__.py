"""Settings: one table of options; command line over environment over zlbench.toml over default."""

from __future__ import annotations

from .commandline import add_arguments, format_help, program_of
from .option import Group, Option
from .project import AxisSpec, CaliberSpec, Project, load_project
from .request import ShapeMode, ShapeSource, axis_of, requests_of, shape_source_of, side_of
from .resolve import Resolved, resolve
from .source import Source, SourceKind
from .table import COMMANDS, OPTIONS

__all__ = [
    "COMMANDS",
    "OPTIONS",
    "AxisSpec",
    "CaliberSpec",
    "Group",
    "Option",
    "Project",
    "Resolved",
    "ShapeMode",
    "ShapeSource",
    "Source",
    "SourceKind",
    "add_arguments",
    "axis_of",
    "format_help",
    "load_project",
    "program_of",
    "requests_of",
    "resolve",
    "shape_source_of",
    "side_of",
]
