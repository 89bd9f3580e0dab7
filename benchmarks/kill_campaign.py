"""Kill small campaigns at random moments, go on after every kill, and compare with one that nobody disturbed.

python benchmarks/kill_campaign.py                    200 kills: half without a device, half on two fake cards
python benchmarks/kill_campaign.py --kills 20 --seed 7

SIGKILL goes to nox with the campaign in it, to the driver of a step or a lane, to a measured process, or to the
sampler; what comes next is `nox -s campaign -- --resume`. After every try nothing may be alive and no lock be held; no
finished cell may have been measured again; and at the end of each campaign its rows, cells and tables are those of the
undisturbed one. Needs neither torch nor triton: suite and compilers are the toys of the tests.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), *(str(ROOT / name) for name in ("plugins", "backends", "sessions", "tests"))]

from fakes.fake_card import FakeCards  # noqa: E402
from fakes.killing import Killed  # noqa: E402
from fakes.suites import ToyProject, make_toy_triton  # noqa: E402

WORDS = ("toy", "other", "--rounds", "2", "--telemetry-interval", "1")


def subjects(folder: Path) -> dict[str, Killed]:
    """The two kinds of campaign, each in a project of its own."""
    builds = folder / "builds"
    for name, version, passes in (("x", "3.6.0", ""), ("y", "3.7.1", "licm")):
        make_toy_triton(builds / name, name=name, version=version, passes=passes)
    projects = {}
    for name in ("no device", "two cards"):
        place = folder / name.replace(" ", "-")
        projects[name] = ToyProject(place / "project", builds=builds, home=place / "home")
        projects[name].table(shapes=[[1, 64], [2, 64]])
    cards = FakeCards(folder / "two-cards" / "cards", 2)
    return {
        "no device": Killed(project=projects["no device"], words=WORDS),
        "two cards": Killed(
            project=projects["two cards"],
            words=(*WORDS, "--backend", "fakecard", "--devices", "0,1", "--no-split"),
            env={"PYTHONPATH": cards.pythonpath()},
        ),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20240229)
    parser.add_argument("--only", choices=("no device", "two cards"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="zlbench-kill-") as folder:
        chosen = {name: item for name, item in subjects(Path(folder)).items() if given.only in (None, name)}
        for number, (name, subject) in enumerate(chosen.items()):
            subject.say = lambda text: print(f"  {text}", flush=True)
            started = time.monotonic()
            wanted = subject.undisturbed()
            print(f"{name}: undisturbed: {len(wanted['cells'])} cells, {len(wanted['report']) - 1} rows in the report")
            subject.kill(given.kills // len(chosen), random.Random(given.seed + number))
            kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(subject.kills.items()))
            steps = ", ".join(f"{count} {step}" for step, count in sorted(subject.by_step.items()))
            print(f"{name}: {sum(subject.kills.values())} kills ({kinds}), {time.monotonic() - started:.0f} s")
            print(f"{name}: {subject.finished} campaigns finished, each like the undisturbed one")
            print(f"{name}: no cell measured twice, no process left, no lock held; next step after each try: {steps}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
