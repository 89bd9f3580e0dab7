"""``python -m zlbench``."""

import sys

from zlbench.cli import main

if __name__ == "__main__":
    sys.exit(main())
