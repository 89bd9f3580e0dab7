"""Options of the toy suite, named as FlagGems names them."""

from types import SimpleNamespace

import pytest
import toygems

Config = SimpleNamespace(query=False)


def pytest_addoption(parser):
    for name in ("--level", "--mode", "--shape_file", "--warmup", "--iter"):
        parser.addoption(name)
    parser.addoption("--dtypes", action="append", choices=["float16", "float32"])


def pytest_configure(config):
    toygems.trouble("configure")
    Config.dtypes = config.getoption("--dtypes")
    Config.mode, Config.level = config.getoption("--mode"), config.getoption("--level")


@pytest.fixture(autouse=True)
def _may_be_skipped():
    toygems.trouble("setup")
