"""The device module of fake cards, in the words of torch.cuda; cards and visibility as in a real process."""

import json
import os
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parents[1]
_current = 0
_opened_by = 0
lost = ""
"""Said at every synchronisation once a kernel has done harm, as on a real card."""


def _cards():
    cards = json.loads((HERE / "cards.json").read_text())["cards"]
    if os.environ.get("FAKECARD_DEVICE_ORDER") != "TOOL":
        cards.reverse()  # as a driver that numbers by speed, where the last is the fastest
    chosen = os.environ.get("FAKECARD_VISIBLE_DEVICES")
    if chosen is None:
        return cards
    found = []
    for wanted in filter(None, chosen.split(",")):
        found += [card for number, card in enumerate(cards) if wanted in (str(number), card["uuid"])]
    return found


def is_available():
    return bool(_cards())


def device_count():
    return len(_cards())


def current_device():
    return _current


def set_device(index):
    global _current  # noqa: PLW0603
    _current = int(index)


@contextmanager
def device(_index):
    yield


def init():
    """Open the card; a process forked from this one cannot use it any more."""
    global _opened_by  # noqa: PLW0603
    _opened_by = _opened_by or os.getpid()


def synchronize(_device=None):
    if lost:
        raise RuntimeError(lost)
    if _opened_by not in (0, os.getpid()):
        raise RuntimeError("Cannot re-initialize a card in a forked subprocess")


def empty_cache():
    return None


def manual_seed_all(_seed):
    return None


def get_device_name(index=None):
    return _cards()[_current if index is None else index]["name"]


def get_device_properties(index=None):
    card = _cards()[_current if index is None else int(index)]
    with (HERE / "opened.jsonl").open("a") as stream:
        stream.write(json.dumps({"pid": os.getpid(), "uuid": card["uuid"]}) + "\n")
    return SimpleNamespace(name=card["name"], uuid=card["uuid"], total_memory=80 << 30, L2_cache_size=50 << 20)


class Event:
    """Times by the clock on the wall."""

    def __init__(self, enable_timing=False, **_kwargs):
        self.at = 0.0

    def record(self, _stream=None):
        self.at = time.perf_counter()

    def synchronize(self):
        return None

    def query(self):
        return True

    def elapsed_time(self, end):
        return (end.at - self.at) * 1000
