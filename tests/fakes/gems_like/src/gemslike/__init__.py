"""A suite of FlagGems' structure: asks for a device when imported, registers its functions with Torch's dispatcher."""

import os

import torch
import triton

if not os.environ.get("GEMS_VENDOR") or not torch.cuda.is_available():
    raise RuntimeError("No device were detected on your machine !")

device = "cuda"
vendor_name = os.environ["GEMS_VENDOR"]
device_count = torch.cuda.device_count()
# As tuners do at decoration: with no driver this is the end.
triton.runtime.driver.active.get_current_target()
MAJOR = torch.cuda.get_device_properties(0).major

from . import ops  # noqa: E402

_FULL_CONFIG = (
    ("relu", ops.relu),
    ("masked_select", ops.masked_select),
    ("tanh", ops.tanh),
    ("tanh_backward", ops.tanh_backward),
    ("rand_like", ops.rand_like),
    # Torch composes this one of others; registered, it is the suite's.
    ("selu", ops.selu),
)


class use_gems:
    """Registers everything but what is excluded, for as long as the context lasts."""

    def __init__(self, exclude=()):
        self.lib = torch.library.Library("aten", "IMPL")
        self.exclude = exclude

    def __enter__(self):
        for name, function in _FULL_CONFIG:
            if function.__name__ not in self.exclude:
                self.lib.impl(name, function, "CUDA")

    def __exit__(self, *_):
        self.lib._destroy()
