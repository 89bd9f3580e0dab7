"""What an interpreter really imports as triton and torch. Runs inside it, as a script or through `observe`.

Needs nothing but the standard library: it is started by path in interpreters that do not know zlbench.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

STEP = "ZL_PROBE_STEP "
RESULT = "ZL_PROBE_RESULT "
_TOOLS = ("pytest", "yaml", "pip")


@dataclass(frozen=True)
class Observed:
    """What one process has imported. Paths have their links resolved.

    `strays` are loaded parts of triton that lie outside of its package; `pythonpath` is what the process was
    given, and `tools` says for pytest, yaml and pip whether they are there.
    """

    interpreter: str
    python_version: str
    pythonpath: tuple[str, ...]
    triton_path: str
    triton_version: str
    native_path: str
    strays: tuple[str, ...] = ()
    torch_version: str | None = None
    torch_path: str | None = None
    tools: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For a message or a file."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Observed:
        """Read back what `to_dict` gave, also after a trip through JSON."""
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in data.items()
        }
        return cls(**values)


def observe(*, torch: bool = False) -> Observed:
    """Import triton (and torch, if asked) unless that has been done, and say what came."""
    _step("triton")
    package = importlib.import_module("triton")
    found_torch = None
    if torch:
        _step("torch")
        found_torch = importlib.import_module("torch")
    folder = os.path.realpath(os.path.dirname(str(package.__file__)))  # noqa: PTH120 - may be run by any Python
    return Observed(
        interpreter=sys.executable,
        python_version=".".join(map(str, sys.version_info[:3])),
        pythonpath=tuple(entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry),
        triton_path=folder,
        triton_version=str(getattr(package, "__version__", "")),
        native_path=_native(folder),
        strays=_strays(str(package.__file__)),
        torch_version=str(found_torch.__version__) if found_torch else None,
        torch_path=os.path.realpath(str(found_torch.__file__)) if found_torch else None,
        tools=tuple(name for name in _TOOLS if importlib.util.find_spec(name) is not None),
    )


def _native(folder: str) -> str:
    loaded = getattr(sys.modules.get("triton._C.libtriton"), "__file__", None)
    if loaded:
        return os.path.realpath(str(loaded))
    libraries = sorted(Path(folder, "_C").glob("libtriton*.so*"))
    return os.path.realpath(libraries[0]) if libraries else ""


def _strays(init: str) -> tuple[str, ...]:
    # Not resolved: a source tree links its back ends into the package, and that is no stray.
    root = Path(init).absolute().parent
    files = (
        getattr(module, "__file__", None) for name, module in list(sys.modules.items()) if name.startswith("triton.")
    )
    return tuple(sorted(file for file in files if file and root not in Path(file).absolute().parents))


def _step(name: str) -> None:
    if __name__ == "__main__":
        print(f"{STEP}{name}", flush=True)  # noqa: T201 - the driver reads how far it came


def main() -> None:
    """Print the result as one line of JSON behind `RESULT`."""
    here = os.path.dirname(os.path.realpath(__file__))  # noqa: PTH120 - as above
    # A script's own folder comes first on the path; the modules beside this one are not for this interpreter.
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry) != here]
    seen = observe(torch="--torch" in sys.argv)
    print(RESULT + json.dumps(seen.to_dict()), flush=True)  # noqa: T201 - the driver reads it


if __name__ == "__main__":
    main()
