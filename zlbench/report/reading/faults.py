"""What reading raises of a file that is torn, of another version, or somebody else's."""

from __future__ import annotations

import csv

FAULTS = (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError, csv.Error)
"""Caught around what is beside the numbers (kernels, telemetry, the screen) alone: a report says that it lacks them."""
