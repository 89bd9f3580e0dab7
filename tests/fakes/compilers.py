"""Toy compilers: a version and a few bytes in place of a native library, as tree, wheel or interpreter."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import zlbench
from zlbench.builds.check import measured_env
from zlbench.builds.probe import RESULT, Observed
from zlbench.process import Command, run

if TYPE_CHECKING:
    from zlbench.builds.manifest import Manifest

ROOT = Path(zlbench.__file__).parents[1]


def make_toy_compiler(
    folder: Path, version: str = "3.6.0", native: bytes = b"native", more: dict[str, str] | None = None
) -> Path:
    """Write a source tree whose `triton` says `version`; `more` maps further paths in the package to text."""
    package = folder / "triton"
    (package / "_C").mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text(f"__version__ = {version!r}\n")
    (package / "_C" / "libtriton.so").write_bytes(native)
    for name, text in (more or {}).items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    return folder


def make_toy_wheel(
    folder: Path,
    version: str = "3.6.0",
    native: bytes = b"native",
    *,
    distribution: str = "triton",
    import_name: str = "triton",
) -> Path:
    """Write a wheel that pip installs with no index; it can be written again with other content."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{distribution}-{version}.dist-info"
    files = {
        f"{import_name}/__init__.py": f"__version__ = {version!r}\n".encode(),
        f"{import_name}/_C/libtriton.so": native,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: toy\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = (
        "".join(f"{name},sha256={_record_hash(data)},{len(data)}\n" for name, data in files.items()).encode()
        + f"{info}/RECORD,,\n".encode()
    )
    path = folder / f"{distribution}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def make_toy_interpreter(folder: Path, version: str = "3.6.0", native: bytes = b"native") -> Path:
    """Make a virtual environment with a toy compiler in it, and nothing else."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    packages = next((folder / "lib").glob("python*")) / "site-packages"
    make_toy_compiler(packages, version, native)
    return folder / "bin" / "python"


def imported_by(manifest: Manifest, caller: dict[str, str], cwd: Path) -> Observed:
    """Return what a measured process of this build imports, in a real process, as a worker would ask it."""
    code = (
        "import json, os\n"
        "from zlbench.builds.probe import RESULT, observe\n"
        "print(RESULT + json.dumps(observe().to_dict()))\n"
    )
    env = measured_env(manifest, caller, {"PYTHONPATH": str(ROOT)})
    outcome = run(Command(argv=(manifest.interpreter, "-c", code), env=env, cwd=cwd, timeout_s=60))
    line = next((line for line in outcome.stdout.splitlines() if line.startswith(RESULT)), "")
    assert line, outcome.stderr
    return Observed.from_dict(json.loads(line.removeprefix(RESULT)))


def caller_env(**more: str) -> dict[str, str]:
    """Return this process's environment without what a test runner put into it."""
    kept = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "PYTHONHOME"}}
    return {**kept, **more}


def _record_hash(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
