"""Toy projects for end-to-end tests, and the promise that no test leaves a process behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakes.suites import ToyProject, make_toy_triton, wait_until_gone


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What all toy projects share: two compilers, and what zlbench makes of them once."""

    builds: Path
    home: Path


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    builds = tmp_path_factory.mktemp("builds")
    make_toy_triton(builds / "x", name="x")
    make_toy_triton(builds / "y", name="y", version="3.7.1", passes="licm")
    return Shared(builds=builds, home=tmp_path_factory.mktemp("home"))


@pytest.fixture
def project(tmp_path: Path, shared: Shared) -> Iterator[ToyProject]:
    yield ToyProject(tmp_path / "project", builds=shared.builds, home=shared.home)
    assert wait_until_gone(str(tmp_path)) == []
