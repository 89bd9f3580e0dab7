"""Real compilers for the tests of this folder; what is expensive is made once a session and looked at by many tests."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from driving import NEW, OLD, ROOT, Done, Zlbench, made_builds, snapshot

from zlbench.builds.manifest import Manifest


@pytest.fixture(scope="session")
def home() -> Path:
    return Path(os.environ.get("ZLBENCH_HOME") or ROOT / ".nox" / "zlbench")


@pytest.fixture(scope="session")
def builds(home: Path) -> dict[str, Manifest]:
    """Manifests of the default pair; a machine without them skips, CI does not."""
    made = made_builds(home)
    missing = {OLD, NEW} - set(made)
    if missing:
        reason = f"{' and '.join(sorted(missing))} not made in {home}: nox -s build makes them"
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return made


@pytest.fixture(scope="session")
def zl(home: Path, builds: dict[str, Manifest], tmp_path_factory: pytest.TempPathFactory) -> Zlbench:
    return Zlbench(home=home, out=tmp_path_factory.mktemp("runs"))


@dataclass(frozen=True)
class Everything:
    """The whole suite on the default pair, and what it left where nothing may change."""

    done: Done
    before: dict[str, dict[str, tuple[int, int]]]
    after: dict[str, dict[str, tuple[int, int]]]
    person: Path
    """The home directory that it ran with, empty before."""


@pytest.fixture(scope="session")
def everything(zl: Zlbench, builds: dict[str, Manifest], tmp_path_factory: pytest.TempPathFactory) -> Everything:
    folders = {name: Path(manifest.triton_path).parent for name, manifest in builds.items()}
    before = {name: snapshot(folder) for name, folder in folders.items()}
    person = tmp_path_factory.mktemp("person")
    done = Zlbench(home=zl.home, out=zl.out, env={"HOME": str(person)})("screen", "--all", "--quick")
    return Everything(done, before, {name: snapshot(folder) for name, folder in folders.items()}, person)
