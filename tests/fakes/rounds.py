"""A driver of compile rounds as a command makes it, with both sides' builds, for tests that look at what it leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from zlbench.cells import CellSpec
from zlbench.engine.compile_rounds import CompileRounds
from zlbench.measure.prepare import make_work_dir, prepare, worker_specs
from zlbench.measure.request import make_cells, make_request
from zlbench.settings import axis_of, load_project, resolve


@contextmanager
def compile_rounds(
    words: Sequence[str], *, root: Path, home: Path, env: Mapping[str, str], folder: Path,
    note: Callable[[str], None] = lambda _: None, **more: Any,
) -> Iterator[tuple[CompileRounds, dict[str, dict[str, CellSpec]]]]:  # fmt: skip
    """A driver that has prepared nothing yet, and the cells of every operator by side.

    Args:
        words: operators and options of a screen.
        root: where zlbench.toml lies.
        folder: where the sides' work directory is made.
    """
    project = load_project(root, env)
    resolved = resolve("screen", list(words), env=env, project=project)
    axis = axis_of(resolved, project)
    request = make_request(resolved, project, axis, sides=("A", "B"), cwd=root, cache=home, env=env)
    builds = prepare(request, home=home, env=env, log=lambda _: None)
    work = folder / "work"
    work.mkdir(parents=True, exist_ok=True)
    make_work_dir(request, work)
    cells: dict[str, dict[str, CellSpec]] = {}
    for spec in make_cells(request, folder):
        cells.setdefault(spec.op, {})[spec.side] = spec
    workers = worker_specs(request, builds, work_dir=work, env=env)
    with CompileRounds(request, builds, workers, note=note, **more) as rounds:
        yield rounds, cells


def cell_in(folder: Path) -> int | None:
    """The process that works in a folder, as a cell does in its own; None where there is none."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str((process / "cwd").readlink()) == str(folder):
                return int(process.name)
        except OSError:
            continue
    return None
