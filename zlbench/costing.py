"""Exact costs of every kernel of a cell, with each distinct machine code looked at once for both sides."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.cells import read_json_lines
from zlbench.code.costs import Costs, CostsUnavailableError, amdgcn_costs, cubin_costs_many
from zlbench.text import plural

COSTS_FILE = "costs.json"
LOADED_FILE = "loaded.jsonl"
"""Costs as the card's driver counted them when it loaded a kernel, written by the measured process."""
_COUNTED = ("registers", "spills")


class Coster:
    """Costs by code identity: kernels that are equal on both sides are disassembled once.

    One set of tools serves both sides, so that a difference is one of the code and not of two disassemblers.

    Args:
        tools: folder with cuobjdump and nvdisasm, which ship inside a Triton package.
    """

    def __init__(self, tools: Path) -> None:
        self._tools = tools
        self._by_code: dict[str, Mapping[str, Any]] = {}
        self._without_costs: dict[str, str] = {}
        self._disagreeing: list[str] = []

    @property
    def unavailable(self) -> str:
        """How many kernels' costs are missing and why, in one line; empty where none are."""
        if not self._without_costs:
            return ""
        count = plural(len(self._without_costs), "kernel")
        return f"COSTS_UNAVAILABLE of {count}: {next(iter(self._without_costs.values()))}"

    @property
    def notes(self) -> list[str]:
        """What people must know of the costs, a line each."""
        return [line for line in (self.unavailable, self.disagreeing) if line]

    @property
    def disagreeing(self) -> str:
        """Kernels whose loaded binary has other costs than its file, in one line; empty where they agree."""
        if not self._disagreeing:
            return ""
        return f"COSTS_DISAGREE of {plural(len(self._disagreeing), 'kernel')}: {self._disagreeing[0]}"

    def add(self, cell_dirs: Iterable[Path], *, keep_binaries: bool) -> None:
        """Write ``costs.json`` into each cell directory; afterwards its binaries are not needed any more.

        A disassembler takes as long to start as for a thousand kernels: give many cells at once.
        """
        cells = [(path, read_json_lines(path / "kernels.jsonl")) for path in cell_dirs if path.is_dir()]
        self._look_at(
            {
                record["code"]: path / "kernels" / record["binary"]
                for path, records in cells
                for record in records
                if record.get("code") and record.get("binary") and record["code"] not in self._by_code
            }
        )
        for path, records in cells:
            costs = {
                record["kernel"]: self._by_code[record["code"]]
                for record in records
                if record.get("code") in self._by_code
            }
            costs = self._with_loaded(costs, read_json_lines(path / LOADED_FILE))
            if costs:
                # A cell that was finished before, and is only kept now, has no binaries left to look at again.
                store.write_json(path / COSTS_FILE, {**(store.read_json(path / COSTS_FILE) or {}), **costs})
            if not keep_binaries:
                _tidy(path)

    def _with_loaded(
        self, costs: Mapping[str, Mapping[str, Any]], loaded: Sequence[Mapping[str, Any]]
    ) -> dict[str, Mapping[str, Any]]:
        """Add what the driver counted when it loaded each kernel, and note where the file says otherwise."""
        found = dict(costs)
        for line in loaded:
            known = found.get(line["kernel"])
            if known is None:
                continue
            counted = {name: line[name] for name in _COUNTED}
            found[line["kernel"]] = {**known, "loaded": counted}
            if any(known[name] != counted[name] for name in _COUNTED):
                differs = (f"{name} {known[name]} in the file, {counted[name]} loaded" for name in _COUNTED)
                self._disagreeing.append(f"{line['kernel']}: {', '.join(differs)}")
        return found

    def _look_at(self, binaries: Mapping[str, Path]) -> None:
        cubins = {code: path for code, path in binaries.items() if path.suffix == ".cubin" and path.is_file()}
        if cubins:
            try:
                found = cubin_costs_many(list(cubins.values()), self._tools, on_failure=self._without)
            except CostsUnavailableError as error:
                self._without_costs |= dict.fromkeys(cubins, error.message)
            else:
                self._by_code |= {code: _plain(found[path]) for code, path in cubins.items() if path in found}
        for code, path in binaries.items():
            text = path.with_suffix(".amdgcn")
            if path.suffix == ".hsaco" and text.is_file():
                try:
                    self._by_code[code] = _plain(amdgcn_costs(text.read_text(encoding="utf-8", errors="replace")))
                except CostsUnavailableError as error:
                    self._without(text, error)

    def _without(self, path: Path, error: CostsUnavailableError) -> None:
        """One binary that cannot be read; the others have their costs."""
        named = error.message if str(path) in error.message else f"{path}: {error.message}"
        self._without_costs[str(path)] = named


def _tidy(cell_dir: Path) -> None:
    """Remove what is not needed any more: the TTGIR of every launched kernel has its second link in the readable tree.

    That of a kernel in whose row the process died has none, and is what one looks at next.
    """
    kernels = cell_dir / "kernels"
    if (store.read_json(cell_dir / store.RESULT) or {}).get("state") == "OK":
        shutil.rmtree(kernels, ignore_errors=True)
        return
    for path in kernels.glob("*"):
        if path.suffix != ".ttgir" or path.stat().st_nlink > 1:
            path.unlink()


def _plain(costs: Costs) -> dict[str, Any]:
    return {
        "registers": costs.registers,
        "spills": costs.spills,
        "stack_bytes": costs.stack_bytes,
        "shared_static": costs.shared_static,
        "instructions": costs.instructions,
        "mix": dict(costs.mix),
    }
