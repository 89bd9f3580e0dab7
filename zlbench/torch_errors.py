"""What Torch itself says, in the same words on every device family, when a graph cannot be captured.

Wordings are compared as they stand, never by loose parts of them: Torch appends "… to enable device-side assertions"
to every error of a device, and a search for "device-side assert" would take each failed capture for a lost context.
"""

from __future__ import annotations

CAPTURE = (
    "during CUDA graph capture",
    "during stream capture",
    "must be captured on a non-default stream",
    "Capture must end on the same stream it began on",
    "capture_end() called before capture_begin()",
    "Invalid capture",
    "without a preceding successful capture",
    "Attempt to increase offset for a CUDA generator not in capture mode",
)
"""Torch refused something while a graph was being captured."""

POISON = (
    "Offset increment outside graph capture encountered unexpectedly",
    "Cannot prepare for replay during capturing stage",
)
"""An earlier capture failed and left Torch's own state behind."""

HINTS = (
    "Search for `",
    "CUDA kernel errors might be asynchronously reported",
    "HIP kernel errors might be asynchronously reported",
    "MUSA kernel errors might be asynchronously reported",
    "For debugging consider passing",
    "Compile with `TORCH_USE_",
    "Device-side assertion tracking was not enabled",
)
"""How lines begin that Torch appends to every error of a device."""
