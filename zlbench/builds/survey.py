"""Look at a build that lies on disk: import it once in its interpreter, hash it, ask git for its commit."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from zlbench.builds import contents
from zlbench.builds import probe as probe_script
from zlbench.builds.contents import Part
from zlbench.builds.manifest import Manifest
from zlbench.builds.probe import RESULT, STEP, Observed
from zlbench.builds.spec import Build, BuildKind
from zlbench.errors import PreflightError
from zlbench.process import Command

if TYPE_CHECKING:
    from zlbench.builds.contents import Stamp
    from zlbench.builds.installer import Installer

CHECK = "interpreter-imports"
_FOREIGN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTHONSAFEPATH")
# A bare run of digits is a date; a hash is taken without "git" before it only if it has a letter.
_COMMIT = re.compile(r"(?:git|g)([0-9a-f]{7,40})\b|\b((?=\d*[a-f])[0-9a-f]{7,40})\b")


class Commit(TypedDict):
    """Where a build comes from; `dirty` is None unless a source tree was asked."""

    commit: str | None
    dirty: bool | None


def check_source(build: Build) -> None:
    """Raise PreflightError when what the build is made from is not there: wheel file, interpreter or tree."""
    reason = ""
    python = build.python
    if build.wheel_file and not build.wheel_file.is_file():
        reason = f"the wheel {build.wheel_file} does not exist"
    elif python and not python.exists():
        reason = f"the interpreter {python} does not exist"
    elif python and not (python.is_file() and os.access(python, os.X_OK)):
        reason = f"{python} is not an interpreter that can be executed"
    elif build.tree and not (build.tree / "triton" / "__init__.py").is_file():
        reason = f"{build.tree} holds no triton package"
    if reason:
        raise PreflightError(
            f"build {build.name}: {reason}",
            check="build-source",
            hint=f"Check the path, on the command line or under [build.{build.name}] in zlbench.toml.",
        )


def probe(
    python: Path, entries: tuple[str, ...], *, torch: bool, installer: Installer, timeout_s: float, name: str
) -> Observed:
    """Import triton, and torch if asked, in an interpreter whose path has only the build in front."""
    env = {key: value for key, value in installer.env.items() if key not in _FOREIGN}
    env |= {"PYTHONPATH": os.pathsep.join(entries), "PYTHONDONTWRITEBYTECODE": "1"}
    outcome = installer.run(
        Command(
            argv=(str(python), str(Path(probe_script.__file__).resolve()), *(("--torch",) if torch else ())),
            env=env, cwd=installer.home, timeout_s=timeout_s, grace_s=2.0,
        )
    )  # fmt: skip
    lines = outcome.stdout.splitlines()
    for line in reversed(lines):
        if line.startswith(RESULT):
            return Observed.from_dict(json.loads(line.removeprefix(RESULT)))
    step = next((line.removeprefix(STEP) for line in reversed(lines) if line.startswith(STEP)), "triton")
    if outcome.timed_out:
        reason = f"no answer within {timeout_s:g} s"
    elif outcome.signal:
        reason = f"ended by signal {outcome.signal}"
    else:
        said = [line.strip() for line in outcome.stderr.splitlines() if line.strip()]
        reason = said[-1] if said else f"exit {outcome.returncode}"
    raise PreflightError(
        f"build {name}: {python} cannot import {step}: {reason}",
        check=CHECK,
        hint=_import_hint(step, python, reason),
    )


def _import_hint(step: str, python: Path, reason: str) -> str:
    if f"No module named '{step}'" in reason:
        return (
            f"This interpreter is without {step}, and nothing is ever installed in it.\n"
            "Give one that has it, or a version such as 3.7.1, for which an environment is made."
        )
    return f'See it whole: {python} -c "import {step}"'


def check_origin(build: Build, seen: Observed, entries: tuple[str, ...]) -> None:
    """Raise PreflightError when what was imported is not what was put on the path, or holds no compiler."""
    if build.kind is not BuildKind.INTERPRETER and not _inside(seen.triton_path, entries[0]):
        raise PreflightError(
            f"build {build.name}: {entries[0]} is on the path, and triton came from {seen.triton_path}",
            check=CHECK,
            hint="Does the requirement name a package that holds triton?",
        )
    if not seen.native_path:
        raise PreflightError(
            f"build {build.name}: {seen.triton_path} has no native library (_C/libtriton*.so)",
            check="build-native",
            hint="A source tree has to be built first: pip install -e . in it." if build.tree else "",
        )


def _inside(path: str, entry: str) -> bool:
    return os.path.realpath(Path(entry, "triton")) == path


def describe(
    build: Build,
    seen: Observed,
    *,
    entries: tuple[str, ...],
    python: Path,
    installer: Installer,
    known: Manifest | None,
) -> Manifest:
    """Hash what was seen and put the manifest together; hashes of untouched files are taken from `known`."""
    package = Path(seen.triton_path)
    files = contents.record(package, known.files if known else ())
    native = next((item.sha256 for item in files if package / item.stamp.path == Path(seen.native_path)), "")
    return Manifest(
        name=build.name,
        kind=build.kind,
        spec_digest=build.digest(),
        interpreter=str(python),
        python_version=seen.python_version,
        pythonpath=entries,
        triton_path=seen.triton_path,
        triton_version=seen.triton_version,
        native_path=seen.native_path,
        native_sha256=native or contents.sha256(Path(seen.native_path)),
        python_sha256=contents.digest(files, Part.PYTHON),
        tools_sha256=contents.digest(files, Part.TOOLS),
        torch_version=seen.torch_version,
        torch_path=seen.torch_path,
        env=dict(build.env),
        stamps=_stamps(build, seen, python),
        files=files,
        **commit(package, seen.triton_version, installer),
    )


def _stamps(build: Build, seen: Observed, python: Path) -> tuple[Stamp, ...]:
    watched = [python, build.wheel_file]
    if seen.torch_path:
        watched.append(Path(seen.torch_path).with_name("version.py"))
    return tuple(contents.stamp(path) for path in watched if path and path.is_file())


def commit(package: Path, version: str, installer: Installer) -> Commit:
    """Find the commit: of the checkout that tracks it, from a file in it, or from the version."""
    # Only a checkout that tracks this very package counts, not one that merely lies around it.
    if _git(package, installer, "ls-files", "--error-unmatch", "__init__.py") is not None:
        head = _git(package, installer, "rev-parse", "HEAD")
        changes = _git(package, installer, "status", "--porcelain", "--untracked-files=no")
        return Commit(commit=head, dirty=bool(changes) if changes is not None else None)
    for path in sorted(package.glob("_commit*")):
        if path.is_file() and (found := _hash_in(path.read_text(encoding="utf-8", errors="replace"))):
            return Commit(commit=found, dirty=None)
    return Commit(commit=_hash_in(version.partition("+")[2]), dirty=None)


def _hash_in(text: str) -> str | None:
    found = _COMMIT.search(text)
    return found[1] or found[2] if found else None


def _git(package: Path, installer: Installer, *words: str) -> str | None:
    # A hook that started us has set GIT_DIR to its own repository.
    env = {key: value for key, value in installer.env.items() if not key.startswith("GIT_")}
    try:
        outcome = installer.run(Command(argv=("git", *words), env=env, cwd=package, timeout_s=60.0))
    except PreflightError:
        return None  # no git here: then no commit is known
    return outcome.stdout.strip() if outcome.ok else None


def entry_points(tree: Path, meta: Path) -> Path | None:
    """Write the metadata that a bare tree lacks; None when it needs none.

    Triton finds its back ends by entry points, which only an installation has: without them a copied tree has
    no target to compile for.
    """
    if any(tree.glob("*triton*.dist-info")) or any(tree.glob("*triton*.egg-info")):
        return None
    names = sorted(path.parent.name for path in tree.glob("triton/backends/*/compiler.py"))
    if not names:
        return None
    folder = meta / "triton-0+tree.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["[triton.backends]", *(f"{name} = triton.backends.{name}" for name in names)]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: triton\nVersion: 0+tree\n", encoding="utf-8")
    return meta
