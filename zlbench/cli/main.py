"""Dispatch: find the sub-command, resolve its options, turn every error into one message and an exit code."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from zlbench import __version__
from zlbench.cli.app import App
from zlbench.errors import DISK_FULL_ERRNOS, ExitCode, ZlbenchError
from zlbench.nearest import unknown
from zlbench.settings import format_help, load_project, program_of, resolve
from zlbench.store import disk_error
from zlbench.text import plural, say, tail

LOG_LINES = 40

SUMMARIES: Mapping[str, str] = {
    "screen": "Which operators does the change touch? One pair per operator, verdict from IR and machine code.",
    "partition": "Spread the operators that a screen kept over cards, by measured time; cut the heaviest by rows.",
    "ab_repeat": "Measure what a screen kept in repeated A/B rounds, with operators that are equal as controls.",
    "report": "What repeated rounds found, row by row. Never starts a card.",
    "campaign": "screen, partition, ab_repeat, report in one go.",
    "status": "What a campaign or its rounds do now, from another shell.",
    "run": "Run operators once on one compiler: rows, IR, exact costs, identity.",
    "diff": "Show the IR of both sides of a screened operator, kernel by kernel.",
    "compare": "Compare the latencies of two runs row by row: what matches, what is left out, one pair's change.",
    "rescore": "Judge a stored screen again with today's fingerprint, in seconds.",
    "build": "Make the environments of compiler builds, once, and record what is in them.",
    "doctor": "Check this machine and show every setting; with --explain, where each comes from.",
    "explain": "Say what a word in capitals or an exit code means, and what to do.",
}


def main(argv: Sequence[str] | None = None, *, env: Mapping[str, str] | None = None) -> int:
    """Run one command and return its exit code.

    Args:
        argv: arguments without the program's name; those of this process where None.
        env: the environment to read settings from; this process's where None.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    environment = dict(os.environ if env is None else env)
    debug = "--debug" in words
    try:
        return int(_dispatch(words, environment))
    except ZlbenchError as error:
        if debug:
            say(traceback.format_exc())
            show_log(error.log)
        return report_error(error)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return finish(ExitCode.INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - the last resort: a fault of ours, said as such
        if debug:
            say(traceback.format_exc())
        if isinstance(error, OSError) and (error.filename or error.errno in DISK_FULL_ERRNOS):
            return report_error(disk_error(error, Path(str(error.filename or "a file"))))
        say(f"zlbench: internal fault: {type(error).__name__}: {error}")
        say("         Please report it with the output of the same command and --debug.")
        return finish(ExitCode.OP_FAILED)


def show_log(log: Path | None) -> None:
    """Show the end of a measured process's own output, which is what --debug is asked for."""
    lines = tail(log, LOG_LINES) if log is not None else []
    if lines:
        say(f"the last {plural(len(lines), 'line')} of {log}:")
        for line in lines:
            say(f"  | {line}")


def _dispatch(words: list[str], env: Mapping[str, str]) -> ExitCode:
    if not words or words[0] in ("-h", "--help", "help"):
        say(overview(), to=sys.stdout)
        return ExitCode.OK
    if words[0] == "--version":
        say(f"zlbench {__version__}", to=sys.stdout)
        return ExitCode.OK
    command, *rest = words
    if command not in SUMMARIES:
        raise _unknown_command(command)
    cwd = Path(env.get("ZLBENCH_CWD") or Path.cwd())
    project = load_project(project_root(cwd, env), env)
    resolved = resolve(command, rest, env=env, project=project)
    if resolved.help:
        say(format_help(command, summary=SUMMARIES[command], program=program_of(command, env)), to=sys.stdout)
        return ExitCode.OK
    for note in resolved.notes:
        say(f"note: {note}")
    app = App(command=command, project=project, resolved=resolved, env=env, cwd=cwd, now=datetime.now())
    module = importlib.import_module(f"zlbench.cli.{command}")
    code: ExitCode = module.run(app)
    return code


def project_root(cwd: Path, env: Mapping[str, str]) -> Path:
    """The project's directory: ZLBENCH_ROOT, else the nearest one above with a zlbench.toml, else `cwd`."""
    given = env.get("ZLBENCH_ROOT", "").strip()
    if given:
        return Path(given)
    return next((folder for folder in (cwd, *cwd.parents) if (folder / "zlbench.toml").is_file()), cwd)


def _unknown_command(command: str) -> ZlbenchError:
    from zlbench.errors import UsageError

    return UsageError(unknown("command", command, SUMMARIES), hint="All commands: zlbench --help")


def overview() -> str:
    """The text of ``zlbench --help``."""
    lines = ["usage: zlbench COMMAND [options]", "", "commands:"]
    lines += [f"  {name:<9} {summary}" for name, summary in SUMMARIES.items()]
    codes = ", ".join(f"{int(code)} {code.label}" for code in ExitCode)
    return "\n".join([*lines, "", "zlbench COMMAND --help shows a command's options.", "", f"exit codes: {codes}"])


def report_error(error: ZlbenchError) -> int:
    """Print what happened, what to do, and the exit code."""
    check = getattr(error, "check", "")
    if error.marker == "PREFLIGHT_FAILED":
        say(f"PREFLIGHT_FAILED check={check}")
        say(_indented(error.message, "  "))
        if error.hint:
            say(_indented(error.hint, "  "))
    elif error.marker:
        say(f"{error.marker} {error.message}")
        if error.hint:
            say(_indented(error.hint, "  "))
    else:
        say(f"zlbench: {error.message}")
        if error.hint:
            say(_indented(error.hint, "         "))
    return finish(error.code)


def _indented(text: str, blanks: str) -> str:
    return "\n".join(blanks + line for line in text.splitlines())


def finish(code: ExitCode) -> int:
    """Print the last line, which holds the real exit code whatever nox makes of it."""
    if code is not ExitCode.OK:
        say(f"exit {int(code)} ({code.label})")
    return int(code)
