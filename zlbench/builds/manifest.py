"""What a build turned out to be: interpreter, paths, versions, content hashes."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from zlbench.builds.contents import FileRecord, Part, Stamp
from zlbench.builds.spec import BuildKind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCHEMA = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """A build, as it is on disk.

    `pythonpath` goes in front of the interpreter's own packages; `triton_path` is the package directory with
    links resolved. Hashes are SHA-256 in hex: of the native library, and of the Python part and the tools as
    in `contents.digest`; "" where the package has no such part. `dirty` is None where no checkout is known.
    `stamps` belong to files outside the package whose change makes the record doubtful.
    """

    name: str
    kind: BuildKind
    spec_digest: str
    interpreter: str
    python_version: str
    pythonpath: tuple[str, ...]
    triton_path: str
    triton_version: str
    native_path: str
    native_sha256: str
    python_sha256: str
    tools_sha256: str
    commit: str | None = None
    dirty: bool | None = None
    torch_version: str | None = None
    torch_path: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    stamps: tuple[Stamp, ...] = ()
    files: tuple[FileRecord, ...] = ()

    @property
    def identity(self) -> str:
        """What tells compilers apart: a hash over native library, Python part and tools."""
        parts = f"{self.native_sha256}\n{self.python_sha256}\n{self.tools_sha256}\n"
        return hashlib.sha256(parts.encode()).hexdigest()

    @property
    def label(self) -> str:
        """For people: ``triton 3.6.0  libtriton 1f3c9a2e``."""
        return f"triton {self.triton_version}  libtriton {self.native_sha256[:8]}"

    def fingerprint(self) -> dict[str, Any]:
        """Return what a run's identity file records of the compiler."""
        return {
            "name": self.name,
            "kind": self.kind.value,
            "import_path": self.triton_path,
            "version": self.triton_version,
            "native_sha256": self.native_sha256,
            "python_sha256": self.python_sha256,
            "tools_sha256": self.tools_sha256,
            "identity": self.identity,
            "commit": self.commit,
            "dirty": self.dirty,
            "torch": self.torch_version,
            "python": self.python_version,
            "env": dict(self.env),
        }

    def to_json(self) -> str:
        """Serialise; `from_json` reads it back equal."""
        return json.dumps({"schema": SCHEMA, **dataclasses.asdict(self)}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Read what `to_json` wrote; raises ValueError for anything else."""
        try:
            data = json.loads(text)
            if data.pop("schema") != SCHEMA:
                raise ValueError("written by another version of zlbench")
            data["kind"] = BuildKind(data["kind"])
            data["pythonpath"] = tuple(data["pythonpath"])
            data["stamps"] = tuple(Stamp(**item) for item in data["stamps"])
            data["files"] = tuple(
                FileRecord(stamp=Stamp(**item["stamp"]), part=Part(item["part"]), sha256=item["sha256"])
                for item in data["files"]
            )
            return cls(**data)
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"not a manifest: {error}") from error

    def save(self, path: Path) -> None:
        """Write whole and rename into place."""
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        try:
            draft.write_text(self.to_json(), encoding="utf-8")
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


def load(path: Path) -> Manifest | None:
    """Read a manifest; None when there is none, or none that this version understands."""
    try:
        return Manifest.from_json(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def same_compiler(one: Manifest, other: Manifest) -> bool:
    """Whether two builds hold the same compiler, wherever they lie."""
    return one.identity == other.identity
