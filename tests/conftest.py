"""For all tests: Ctrl-C reaches the processes that a test starts, also where this run itself is in the background.

A script's shell starts its background jobs with SIGINT ignored, and so would be every process below.
"""

from __future__ import annotations

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
