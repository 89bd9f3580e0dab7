"""``python -m zlbench``, also in a checkout where nothing is installed."""

import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
# In a checkout the other packages lie in folders of their own.
sys.path[1:1] = [str(_ROOT / name) for name in ("plugins", "backends") if (_ROOT / name / f"zlbench_{name}").is_dir()]

from zlbench.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
