"""A toy project: suite, compilers and zlbench.toml that need neither torch nor triton, and how to run zlbench on it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zlbench

TOY = Path(__file__).parent / "toy"
CHECKOUT = Path(zlbench.__file__).parents[1]
PATHS = [str(CHECKOUT), *(str(CHECKOUT / name) for name in ("plugins", "backends", "sessions"))]

DTYPES = ("float16", "float32")
SHAPES = tuple((number, 64) for number in range(1, 6))
LATENCIES = {"float16": [0.010, 0.020, 0.030, 0.040, 0.050], "float32": [0.011, 0.021, 0.031, 0.041, 0.051]}

_BACKEND = """\
from zlbench.backend import Backend, Timer

BACKEND = Backend(
    name="table", title="a table of latencies", timers=(Timer.DIRECT,), visibility=("TOY_VISIBLE", "TOY_OTHER")
)
"""


def make_toy_suite(folder: Path, *, fold_is: str = "1") -> Path:
    """Write the suite; `fold_is` is the value of TOY_FOLD that its operators understand as on."""
    shutil.copytree(TOY / "suite", folder, ignore=shutil.ignore_patterns("__pycache__"))
    table = {"dtypes": DTYPES, "shapes": SHAPES, "inputs_of_a_shape": 1, "latency_ms": LATENCIES, "fold_is": fold_is}
    table["troubles"] = []
    (folder / "table.json").write_text(json.dumps(table))
    return folder


def make_toy_triton(folder: Path, *, name: str, version: str = "3.6.0", passes: str = "") -> Path:
    """Write a source tree of the toy compiler; each word in `passes` changes the IR that it emits."""
    shutil.copytree(TOY / "compiler", folder, ignore=shutil.ignore_patterns("__pycache__"))
    package = folder / "triton"
    (package / "_C").mkdir()
    (package / "_C" / "libtriton.so").write_bytes(f"toy compiler {name}".encode())
    (package / "release.txt").write_text(f"{version}\n{name}\n{passes}\n")
    return folder


def make_table_backend(folder: Path) -> Path:
    """Write a package with a backend that times by the suite's own `get_latency`, found by its entry point."""
    info = folder / "toy_backend-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "toy_backend.py").write_text(_BACKEND)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-backend\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[zlbench.backends]\ntable = toy_backend:BACKEND\n")
    return folder


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Everything that it said."""
        return self.out + self.err


class Started:
    """A command that is running, in a process group of its own as a shell would start it."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, limit: Callable[[], None] | None = None
    ) -> None:
        self._process = subprocess.Popen(
            list(argv), env=dict(env), cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            stdin=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=limit,  # noqa: PLW1509 - no thread here holds a lock
        )  # fmt: skip
        self.pid = self._process.pid
        self._said = ""

    def until(self, text: str) -> None:
        """Wait for a line on its standard error that holds `text`."""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._said += line
            if text in line:
                return
        raise AssertionError(f"ended without saying {text!r}:\n{self._said}")

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    def send(self, number: int) -> None:
        """Signal this process alone."""
        self._process.send_signal(number)

    def end(self, timeout_s: float = 60.0) -> Ended:
        """Wait for its end; what is left of its group after the limit is killed."""
        try:
            out, err = self._process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
            out, err = self._process.communicate()
            raise AssertionError(f"still running after {timeout_s:g} s:\n{out}\n{err}") from None
        return Ended(code=self._process.returncode, out=out, err=self._said + err)


class ToyProject:
    """One project directory with its suite, and two compilers that all projects share.

    Args:
        root: where zlbench.toml, the suite and runs/ lie.
        builds: directory of the compilers x and y.
        home: what zlbench makes once; shared, so that a compiler is looked at once.
    """

    def __init__(self, root: Path, *, builds: Path, home: Path, fold_is: str = "1") -> None:
        self.root, self.builds, self.home = root, builds, home
        root.mkdir(parents=True, exist_ok=True)
        self.suite = make_toy_suite(root / "suite", fold_is=fold_is)
        self.runs = root / "runs"
        self.toml()

    def toml(self, *, x: str = "", y: str = "", more: str = "") -> None:
        """Write zlbench.toml; `x` and `y` replace what the builds are made of."""
        x, y = (given or f"tree = {json.dumps(str(self.builds / name))}" for name, given in (("x", x), ("y", y)))
        text = f'[defaults]\naxis = "toys"\nsuite = {json.dumps(str(self.suite))}\n[axis.toys]\na = "x"\nb = "y"\n'
        text += f'[build.x]\n{x}\ntorch = ""\n[build.y]\n{y}\ntorch = ""\n{more}\n'
        (self.root / "zlbench.toml").write_text(text)

    def trouble(self, *entries: Mapping[str, Any]) -> None:
        """Say what goes wrong from now on: ``do`` (a function of toygems.troubles), and where."""
        self.table(troubles=entries)

    def table(self, **changed: Any) -> None:
        """Change entries of the suite's table."""
        path = self.suite / "table.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))

    def journal(self) -> list[dict[str, Any]]:
        """What the operators say that they did, in order."""
        path = self.suite / "journal.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def env(self, **more: str) -> dict[str, str]:
        """The caller's environment: this process's, without what a test runner or a nox session put into it."""
        foreign = ("PYTEST_", "NOX_", "ZLBENCH_", "TOY_", "TRITON_", "NO_COLOR", "FORCE_COLOR")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
        return {**kept, "PYTHONPATH": os.pathsep.join(PATHS), "PYTHONDONTWRITEBYTECODE": "1",
                "ZLBENCH_HOME": str(self.home), "ZLBENCH_CARD_LOCKS": str(self.root.parent / "card-locks"),
                **more}  # fmt: skip

    def start(
        self, *words: str, env: Mapping[str, str] | None = None, limit: Callable[[], None] | None = None
    ) -> Started:
        """Start ``zlbench …`` as a person would; `limit` runs in the child first."""
        return Started([sys.executable, "-m", "zlbench", *words], self.env(**(env or {})), self.root, limit)

    def run(self, *words: str, env: Mapping[str, str] | None = None, limit: Callable[[], None] | None = None) -> Ended:
        """Run ``zlbench …`` to its end."""
        return self.start(*words, env=env, limit=limit).end()

    def start_nox(self, *words: str, env: Mapping[str, str] | None = None, keep_path: bool = False) -> Started:
        """Start nox with a noxfile of three lines, as another repository would have it.

        Args:
            keep_path: leave a PYTHONPATH of `env` for those that nox starts.
        """
        noxfile = self.root / "noxfile.py"
        noxfile.write_text(
            f"import sys, pathlib; sys.path[:0] = {PATHS!r}\n"
            "from zlbench_sessions import register\n"
            "register(pathlib.Path(__file__).parent)\n"
        )
        kept = dict(env or {}) if keep_path else {}
        env = {key: value for key, value in self.env(**(env or {})).items() if key != "PYTHONPATH" or key in kept}
        # The command itself: unlike ``python -m nox`` it does not have the working directory on its path.
        command = Path(sys.executable).with_name("nox")
        return Started([str(command), "-f", str(noxfile), *words], env, self.root)

    def nox(self, *words: str, env: Mapping[str, str] | None = None) -> Ended:
        """Run nox to its end."""
        return self.start_nox(*words, env=env).end()

    def screens(self) -> list[Path]:
        """The screens that were started, oldest first."""
        return sorted(self.runs.glob("screen_*"), key=lambda path: path.stat().st_ctime_ns)

    @property
    def screen(self) -> Path:
        """The only screen."""
        (found,) = self.screens()
        return found


def lines(path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def data(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text())


def alive_with(*texts: str) -> list[int]:
    """Processes that are not zombies and whose environment and command line hold all `texts`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            content = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if all(text.encode() in content for text in texts) and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return found


def wait_until_gone(*texts: str, patience_s: float = 10.0) -> list[int]:
    """Processes that hold `texts` even after a while; the kernel needs a moment to carry out a death signal."""
    until = time.monotonic() + patience_s
    while (left := alive_with(*texts)) and time.monotonic() < until:
        time.sleep(0.05)
    return left
