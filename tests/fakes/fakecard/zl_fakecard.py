"""The fake family as a backend: what a package of somebody else would register."""

import json
import sys
from pathlib import Path

from zlbench.backend import Backend, Timer
from zlbench.smi import CARD, CardFacts, CardProcess, Query, Sample

HERE = Path(__file__).parent


def _lines(text):
    for line in text.splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found


def _query(what, parse):
    return Query(argv=(sys.executable, str(HERE / "fake_smi.py"), what), pin=("-i", CARD), parse=parse)


def _cards(text):
    return [
        CardFacts(
            **{k: v for k, v in line.items() if k not in ("clock", "throttle")},
            settings={"sm_clock_max_mhz": line["clock"]},
        )
        for line in _lines(text)
    ]


def _samples(text):
    return [
        Sample(
            index=line["index"],
            uuid=line["uuid"],
            sm_clock_mhz=line["clock"],
            throttle="+".join(line.get("throttle", ())),
        )
        for line in _lines(text)
    ]


BACKEND = Backend(
    name="fakecard",
    title="fake cards",
    vendor="fake",
    visibility=("FAKECARD_VISIBLE_DEVICES",),
    environment={"FAKECARD_DEVICE_ORDER": "TOOL"},
    device_module="fakecard",
    timers=(Timer.DIRECT,),
    fatal_errors=("an illegal memory access was encountered",),
    device_files=(str(HERE / "dev" / "fakecard*"),),
    telemetry=_query("cards", _samples),
    cards=_query("cards", _cards),
    processes=_query("processes", lambda text: [CardProcess(**line) for line in _lines(text)]),
)
