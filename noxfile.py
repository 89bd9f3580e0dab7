# /// script
# dependencies = ["nox>=2026.8.10", "pyyaml>=6"]
# ///
"""nox sessions of zlbench; ``python3 noxfile.py …`` does the same on a machine without nox, and installs it first."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
# The nox command does not put this folder on the path.
sys.path[:0] = [str(ROOT), *(str(ROOT / name) for name in ("plugins", "backends", "sessions"))]

if __name__ == "__main__":
    from zlbench_sessions.bootstrap import main

    sys.exit(main(ROOT, sys.argv[1:]))

import nox  # noqa: E402
from zlbench_sessions import register  # noqa: E402

nox.needs_version = ">=2026.8.10"
nox.options.default_venv_backend = "uv|virtualenv"
register(ROOT)
