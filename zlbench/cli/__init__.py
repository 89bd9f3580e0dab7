"""The ``zlbench`` command: one sub-command a file, results on stdout, talk on stderr, documented exit codes."""

from __future__ import annotations

from zlbench.cli.main import main

__all__ = ["main"]
