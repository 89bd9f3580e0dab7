"""Everything that goes wrong in a benchmark, by name."""

import errno
import json
import os
import signal
import subprocess
import time
from pathlib import Path


def segv(_root):
    os.kill(os.getpid(), signal.SIGSEGV)


def kill_cell(_root):
    os.kill(os.getpid(), signal.SIGKILL)


def kill_worker(_root):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)


def kill_driver(root):
    _to_driver(root, signal.SIGKILL)


def interrupt_driver(root):
    _to_driver(root, signal.SIGINT)


def terminate_driver(root):
    _to_driver(root, signal.SIGTERM)


def hang(root):
    _grandchild(root)
    time.sleep(600)


def leave_forked(root):
    """Leave processes behind that were never exec'd: in this group, in a session of their own, and orphaned at once."""
    for how in ("child", "session", "orphan"):
        _forked_grandchild(root, how)
    while len((root / "grandchildren").read_text().split() if (root / "grandchildren").exists() else "") < 3:
        time.sleep(0.02)


def hang_with_forked(root):
    leave_forked(root)
    time.sleep(600)


def witness(root):
    """Note which of the grandchildren that an operator before left is alive now."""
    pids = (root / "grandchildren").read_text().split()
    (root / "witness").write_text(" ".join(pid for pid in pids if Path("/proc", pid).exists()) or "none")


def out_of_memory(_root):
    raise MemoryError("out of memory: tried to allocate 80.00 GiB")


def disk_full(_root):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


LOST = "CUDA error: an illegal memory access was encountered"


def lose_device(_root):
    """Do what a stray store on a card does: this call fails, and every later one of the same process."""
    import torch

    global lost  # noqa: PLW0603
    lost = True
    torch.fakecard.lost = LOST
    raise RuntimeError(LOST)


lost = False


def kill_shard(_root):
    """Die, where this process only warms up."""
    if "warmup" in Path.cwd().parts:
        os.kill(os.getpid(), signal.SIGKILL)


def card_changes(root):
    """Let the fake cards be from now on what cards.json beside the table says; WORKER stands for our worker."""
    text = (root / "cards.json").read_text().replace('"WORKER"', str(os.getppid()))
    Path(os.environ["TOY_CARDS"]).write_text(text)


def busy(_root):
    """Somebody else comes to the card, and stays."""
    _card(processes=[{"pid": 4242, "name": "train", "memory_mb": 1024.0, "card": "FAKE-00000000-0000"}])


def busy_once(root):
    """Somebody else comes to the card the first time, and is gone the next."""
    first = not (root / "was_busy").exists()
    (root / "was_busy").touch()
    busy(root) if first else _card(processes=[])


def throttle_once(root):
    """The card gets hot the first time, for as long as telemetry needs to see it; it has cooled down the next."""
    first = not (root / "was_hot").exists()
    (root / "was_hot").touch()
    _card(throttle=["hw_thermal_slowdown"] if first else [])
    seen = Path("../../telemetry.tsv")
    until = time.monotonic() + 30
    while first and "hw_thermal" not in seen.read_text() and time.monotonic() < until:
        time.sleep(0.05)


def cool(_root):
    _card(throttle=[])


def _card(**changed):
    """Change what the fake cards' tool tells; what is not of the first card is of all."""
    path = Path(os.environ["TOY_CARDS"])
    state = json.loads(path.read_text())
    state |= {key: value for key, value in changed.items() if key in state}
    state["cards"][0] |= {key: value for key, value in changed.items() if key not in state}
    partial = path.with_suffix(".troubled")
    partial.write_text(json.dumps(state))
    partial.replace(path)


def kill_lane(root):
    """Kill our driver outright, once; WORKER's parent is the driver or a lane's process."""
    if not (root / "killed").exists():
        (root / "killed").touch()
        _to_driver(root, signal.SIGKILL)


def error(_root):
    raise RuntimeError("this operator is broken")


def error_every_second(root):
    """Fail in every second process."""
    seen = root / "processes_seen"
    pids = seen.read_text().split() if seen.exists() else []
    if str(os.getpid()) not in pids:
        pids.append(str(os.getpid()))
        seen.write_text(" ".join(pids))
    if pids.index(str(os.getpid())) % 2:
        error(root)


def skip(_root):
    import pytest

    pytest.skip("needs a card")


def usage(_root):
    import pytest

    raise pytest.UsageError("this option does not go with that one")


def _to_driver(root, number):
    """Signal whoever started our worker, in the middle of an operator that has started a process of its own.

    Not before the other side, which came first, is complete: how quickly its files were finished must not matter.
    """
    _grandchild(root)
    until = time.monotonic() + 20
    while not Path("../A/result.json").exists() and Path.cwd().name == "B" and time.monotonic() < until:
        time.sleep(0.02)
    status = Path(f"/proc/{os.getppid()}/status").read_text()
    driver = next(line.split()[1] for line in status.splitlines() if line.startswith("PPid:"))
    os.kill(int(driver), number)
    time.sleep(600)


def _forked_grandchild(root, how):
    pid = os.fork()
    if pid:
        if how == "orphan":
            os.waitpid(pid, 0)
        return
    if how != "child":
        os.setsid()
    if how == "orphan" and os.fork():
        os._exit(0)
    with (root / "grandchildren").open("a") as stream:
        stream.write(f"{os.getpid()}\n")
    time.sleep(600)
    os._exit(0)


def _grandchild(root):
    child = subprocess.Popen(["sleep", "600"], start_new_session=True, stdin=subprocess.DEVNULL)
    with (root / "grandchildren").open("a") as stream:
        stream.write(f"{child.pid}\n")
