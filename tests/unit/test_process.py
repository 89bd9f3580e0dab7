"""Starting, limiting and ending real processes."""

from __future__ import annotations

import os
import re
import signal
import sys
import textwrap
import time
from pathlib import Path

import pytest

import zlbench
from zlbench import proctree
from zlbench.errors import PreflightError
from zlbench.process import Command, Outcome, Terminated, run, terminable
from zlbench.resident import Deadline, Resident, wait_any

PATIENCE_S = 20.0
ROOT = Path(__file__).parents[2]


def command(code: str, tmp_path: Path, **more: object) -> Command:
    wanted: dict[str, object] = {
        "argv": (sys.executable, "-c", textwrap.dedent(code)),
        "env": {**os.environ, "PYTHONPATH": str(ROOT), "OUT": str(tmp_path)},
        "cwd": tmp_path,
        "timeout_s": PATIENCE_S,
        "grace_s": 0.3,
    }
    return Command(**{**wanted, **more})  # type: ignore[arg-type]


def alive(pid: int) -> bool:
    return any(entry.pid == pid and entry.state not in "ZX" for entry in proctree.table())


def wait_gone(pid: int) -> bool:
    until = time.monotonic() + PATIENCE_S
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not alive(pid)


def wait_file(path: Path) -> str:
    until = time.monotonic() + PATIENCE_S
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < until, f"{path} never came"
        time.sleep(0.01)
    return path.read_text()


def zombies() -> list[int]:
    return [entry.pid for entry in proctree.table() if entry.parent == os.getpid() and entry.state == "Z"]


def test_status_and_output_are_captured(tmp_path: Path) -> None:
    got = run(command("import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)", tmp_path))
    assert (got.returncode, got.signal, got.timed_out, got.interrupted) == (7, None, False, False)
    assert (got.stdout, got.stderr, got.ok) == ("out\n", "err\n", False)


def test_input_is_fed_and_absent_input_is_empty(tmp_path: Path) -> None:
    echo = "import sys; print(len(sys.stdin.read()))"
    assert run(command(echo, tmp_path, stdin=b"x" * 200_000)).stdout == "200000\n"
    assert run(command(echo, tmp_path)).stdout == "0\n"


def test_output_larger_than_a_pipe_does_not_hang(tmp_path: Path) -> None:
    assert len(run(command("print('x' * 3_000_000)", tmp_path)).stdout) == 3_000_001


def test_output_is_appended_to_the_given_file(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    got = run(command("import os; os.write(1, b'a\\n'); os.write(2, b'b\\n')", tmp_path, stdout=log))
    assert log.read_text() == "before\na\nb\n"
    assert (got.stdout, got.stderr) == ("", "")


def test_death_by_signal_is_reported_as_that_signal(tmp_path: Path) -> None:
    got = run(command("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", tmp_path))
    assert got.signal == signal.SIGSEGV
    assert got.returncode == -signal.SIGSEGV
    assert not got.timed_out


def test_an_interrupt_inside_the_child_is_told_apart(tmp_path: Path) -> None:
    assert run(command("import os, signal; os.kill(os.getpid(), signal.SIGINT)", tmp_path)).interrupted


@pytest.mark.parametrize("program", ["no-such-program-zl", "/dev/null"])
def test_what_cannot_be_started_is_named(tmp_path: Path, program: str) -> None:
    with pytest.raises(PreflightError, match=program):
        run(command("", tmp_path, argv=(program,)))


def test_a_missing_directory_is_named_rather_than_the_program(tmp_path: Path) -> None:
    with pytest.raises(PreflightError, match="nowhere"):
        run(command("", tmp_path, cwd=tmp_path / "nowhere"))


GRANDCHILD = """
import os, subprocess, sys, time
inner = "import os, time, sys, signal; {setup}; "
inner += "open(os.environ['OUT'] + '/pid', 'w').write(str(os.getpid())); time.sleep(600)"
subprocess.Popen([sys.executable, "-c", inner], start_new_session={session}{more})
while not os.path.exists(os.environ['OUT'] + '/pid'): time.sleep(0.01)
{then}
"""


@pytest.mark.parametrize(
    ("setup", "session", "more"),
    [
        ("pass", False, ""),
        ("pass", True, ""),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", False, ""),
        ("pass", False, ", env={'OUT': os.environ['OUT']}"),
        ("os.fork() and os._exit(0); os.setsid()", True, ""),
    ],
    ids=["plain", "own session", "deaf to SIGTERM", "cleared environment", "daemon"],
)
@pytest.mark.parametrize("then", ["time.sleep(600)", "sys.exit(0)"], ids=["deadline", "normal end"])
def test_no_grandchild_survives(tmp_path: Path, setup: str, session: bool, more: str, then: str) -> None:
    code = GRANDCHILD.format(setup=setup, session=session, more=more, then=then)
    hangs = "sleep" in then
    # The limit must leave time for two interpreters to start on a busy machine.
    got = run(command(code, tmp_path, timeout_s=3.0 if hangs else PATIENCE_S))
    assert got.timed_out is hangs
    assert not alive(int((tmp_path / "pid").read_text()))
    assert got.survivors == ()
    assert zombies() == []


def test_a_polite_child_may_clean_up_within_the_grace(tmp_path: Path) -> None:
    code = """
    import os, signal, sys, time
    def bye(*_):
        open(os.environ["OUT"] + "/bye", "w").write("bye")
        sys.exit(3)
    signal.signal(signal.SIGTERM, bye)
    time.sleep(600)
    """
    got = run(command(code, tmp_path, timeout_s=2.0, grace_s=PATIENCE_S))
    assert (tmp_path / "bye").read_text() == "bye"
    assert (got.timed_out, got.returncode) == (True, 3)


def test_a_finished_daemon_leaves_no_zombie(tmp_path: Path) -> None:
    code = """
    import os, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    time.sleep(0.3)
    """
    assert run(command(code, tmp_path)).ok
    assert zombies() == []


DRIVER = """
import os
from pathlib import Path
from zlbench.process import Command, run, Terminated
child = "import os, time; open(os.environ['OUT'] + '/child', 'w').write(str(os.getpid())); time.sleep(600)"
import sys
try:
    run(Command(argv=(sys.executable, "-c", child), env=dict(os.environ), cwd=Path.cwd(), timeout_s=600,
                grace_s=0.2))
except Terminated:
    sys.exit(41)
except KeyboardInterrupt:
    sys.exit(42)
"""


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGKILL, -9), (signal.SIGTERM, 41), (signal.SIGINT, 42)], ids=str
)
def test_the_child_goes_when_the_driver_goes(tmp_path: Path, number: int, status: int) -> None:
    with Resident(command(DRIVER, tmp_path, stdout=tmp_path / "log")) as driver:
        pid = int(wait_file(tmp_path / "child"))
        os.kill(driver.pid, number)
        assert wait_gone(pid)
        assert driver.finish(PATIENCE_S).returncode == status, (tmp_path / "log").read_text()


def test_sweep_ends_what_a_killed_driver_left(tmp_path: Path) -> None:
    code = DRIVER.replace("time.sleep(600)", "__import__('subprocess').run(['sleep', '612'])")
    with Resident(command(code, tmp_path, stdout=tmp_path / "log")) as driver:
        pid = int(wait_file(tmp_path / "child"))
        grandchild = _child_of(pid)
        os.kill(driver.pid, signal.SIGKILL)
        assert wait_gone(pid)
        assert driver.pid in proctree.sweep()
        assert not alive(grandchild)


def _child_of(pid: int) -> int:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        for entry in proctree.table():
            if entry.parent == pid:
                return entry.pid
    raise AssertionError(f"{pid} has no child")


def test_sigterm_is_left_alone_where_somebody_handles_it() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with terminable():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
    with pytest.raises(Terminated), terminable():
        signal.raise_signal(signal.SIGTERM)


ECHO = """
import os
from zlbench.resident import Lines
lines = Lines.from_env(os.environ)
while (message := lines.receive()) is not None:
    {body}
"""


def echo(tmp_path: Path, body: str = "lines.send({'got': message})") -> Resident:
    return Resident(command(ECHO.format(body=body), tmp_path, stdout=tmp_path / f"log{time.monotonic_ns()}"))


def test_messages_go_both_ways_whatever_their_size(tmp_path: Path) -> None:
    with echo(tmp_path) as child:
        for message in ({"op": "topk", "note": "µ\n"}, ["x" * 500_000], 0):
            child.send(message)
            assert child.receive(PATIENCE_S) == {"got": message}


def test_silence_is_a_deadline_and_the_child_lives_on(tmp_path: Path) -> None:
    with echo(tmp_path) as child:
        with pytest.raises(Deadline):
            child.receive(0.05)
        assert child.alive
        child.send(1)
        assert child.receive(PATIENCE_S) == {"got": 1}


def test_several_children_at_once(tmp_path: Path) -> None:
    with echo(tmp_path) as one, echo(tmp_path) as two:
        assert wait_any([one, two], 0.0) == []
        two.send("second")
        assert wait_any([one, two], PATIENCE_S) == [two]
        assert two.receive(0) == {"got": "second"}
        one.send("first")
        assert wait_any([one, two], PATIENCE_S) == [one]
        assert one.marker != two.marker


def test_two_answers_in_one_read_are_both_seen(tmp_path: Path) -> None:
    with echo(tmp_path, "os.write(lines.writer, b'1\\n2\\n')") as child:
        child.send(0)
        assert child.receive(PATIENCE_S) == 1
        assert wait_any([child], 0.0) == [child]
        assert child.receive(0) == 2


def test_death_is_the_end_even_when_a_grandchild_holds_the_pipe(tmp_path: Path) -> None:
    body = """
    import subprocess, signal
    lines.send("last words")
    os.set_inheritable(lines.writer, True)
    subprocess.Popen(["sleep", "600"], close_fds=False, start_new_session=True)
    os.kill(os.getpid(), signal.SIGABRT)
    """
    with echo(tmp_path, textwrap.indent(textwrap.dedent(body), "    ").strip()) as child:
        child.send("go")
        assert child.receive(PATIENCE_S) == "last words"
        assert child.receive(PATIENCE_S) is None
        assert child.receive(PATIENCE_S) is None
        assert child.terminate().signal == signal.SIGABRT


def test_sending_to_the_dead_says_so(tmp_path: Path) -> None:
    with echo(tmp_path, "break") as child:
        child.send(1)
        assert child.receive(PATIENCE_S) is None
        with pytest.raises(BrokenPipeError):
            child.send(2)


def test_terminate_ends_a_deaf_child_and_answers_twice_the_same(tmp_path: Path) -> None:
    deaf = "import signal, time; signal.signal(15, 1); lines.send('deaf'); time.sleep(600)"
    child = echo(tmp_path, deaf)
    child.send(1)
    assert child.receive(PATIENCE_S) == "deaf"
    outcome: Outcome = child.terminate(grace_s=0.1)
    assert outcome.signal == signal.SIGKILL
    assert child.terminate() is outcome
    assert not child.alive
    assert zombies() == []


def test_no_other_module_of_the_core_starts_processes() -> None:
    core = Path(str(zlbench.__file__)).parent
    starting = re.compile(
        r"\bsubprocess\b.*\bimport\b|\bimport\b.*\bsubprocess\b|os\.(fork|system|popen|spawn|exec|posix_spawn)"
    )
    found = [path.name for path in core.rglob("*.py") if starting.search(path.read_text(encoding="utf-8"))]
    assert found == ["process.py"]


def test_a_program_that_starts_none_is_ended_at_its_deadline(tmp_path: Path) -> None:
    outcome = run(
        Command(
            argv=("sleep", "600"), env=dict(os.environ), cwd=tmp_path, timeout_s=0.1, grace_s=0.0, starts_none=True
        )
    )  # fmt: skip
    assert (outcome.timed_out, outcome.signal) == (True, signal.SIGKILL)


def test_what_a_child_says_can_go_where_ours_goes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = "import sys; print('result'); print('talk', file=sys.stderr); sys.exit(3)"
    outcome = run(command(code, tmp_path, passed_on=1))
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (3, "", "")
    assert capfd.readouterr() == ("result\n", "talk\n")
    run(command(code, tmp_path, passed_on=2))
    assert capfd.readouterr() == ("", "result\ntalk\n")


def test_an_interrupted_driver_waits_for_a_child_that_has_to_end_others(tmp_path: Path) -> None:
    (tmp_path / "child.py").write_text(
        textwrap.dedent("""
            import signal, sys, time
            from pathlib import Path

            def end(*_):
                time.sleep(4)
                Path("ended").touch()
                sys.exit(0)

            signal.signal(signal.SIGTERM, end)
            Path("ready").touch()
            time.sleep(60)
        """)
    )
    driver = """
        import os, signal, sys, threading, time
        from pathlib import Path
        from zlbench.process import Command, run

        def interrupt():
            while not Path("ready").exists():
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()
        try:
            run(Command(argv=(sys.executable, "child.py"), env=dict(os.environ), cwd=Path("."), interrupt_grace_s=15))
        except KeyboardInterrupt:
            Path("interrupted").touch()
    """
    run(command(driver, tmp_path, timeout_s=40.0))
    assert (tmp_path / "ended").exists(), "after 4 s, which is more than others get"
    assert (tmp_path / "interrupted").exists()
