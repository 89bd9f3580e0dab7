"""Tests on a card: only where somebody names the interpreter that has Torch and Triton for it.

ZL_TEST_CARD="$(command -v python3)" python -m pytest tests/gpu
"""

from __future__ import annotations

import os
import shutil

import pytest
from on_card import HERE, Card

from zlbench.resources import builtin_suite


@pytest.fixture(scope="session")
def card(tmp_path_factory: pytest.TempPathFactory) -> Card:
    interpreter = os.environ.get("ZL_TEST_CARD")
    if not interpreter:
        pytest.skip("no card: ZL_TEST_CARD names the interpreter that has Torch and Triton for one")
    folder = tmp_path_factory.mktemp("card")
    suite = folder / "suite"
    shutil.copytree(builtin_suite(), suite, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE / "data" / "faulty.py", suite / "src" / "zlbench_builtin" / "faulty.py")
    shutil.copy(HERE / "data" / "test_faulty.py", suite / "benchmark" / "test_faulty.py")
    backend = os.environ.get("ZL_TEST_CARD_BACKEND", "cuda")
    return Card(interpreter=interpreter, backend=backend, suite=suite, folder=folder)
