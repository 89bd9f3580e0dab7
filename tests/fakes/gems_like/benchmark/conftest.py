"""Options named as FlagGems names them; the device is probed when this is imported."""

from types import SimpleNamespace

import gemslike
import torch

Config = SimpleNamespace(query=False, device=gemslike.device)
torch.cuda.get_device_capability()


def pytest_addoption(parser):
    for name in ("--level", "--mode", "--shape_file", "--warmup", "--iter"):
        parser.addoption(name)
    parser.addoption("--dtypes", action="append", choices=["float16", "float32"])


def pytest_configure(config):
    Config.dtypes = config.getoption("--dtypes") or ["float16", "float32"]
