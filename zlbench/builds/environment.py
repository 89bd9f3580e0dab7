"""Make the environment of a build once, and find it again: a base with torch, an overlay with the compiler.

The compiler lies in an overlay that comes first on the path: it shadows the triton that a CUDA torch brings,
one base serves every build, and an interpreter given by a person is never written to.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from zlbench import process
from zlbench.builds import contents, survey
from zlbench.builds.check import rebuild_hint
from zlbench.builds.installer import CHECK, Installer
from zlbench.builds.locks import locked
from zlbench.builds.manifest import Manifest, load
from zlbench.builds.spec import Build, BuildKind
from zlbench.errors import BuildMismatchError, PreflightError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from zlbench.process import Command, Outcome

BASE_PACKAGES = ("pytest>=8", "pyyaml", "numpy")
_PYTEST = ("pytest>=8", "pluggy", "iniconfig", "packaging", "pygments")
_BEFORE_3_11 = ("exceptiongroup", "tomli", "typing_extensions")
_YAML = ("pyyaml",)


def ensure(
    build: Build,
    *,
    home: Path,
    env: Mapping[str, str],
    log: Callable[[str], None],
    run: Callable[[Command], Outcome] = process.run,
    rebuild: bool = False,
    install: bool = True,
    side: str = "?",
    import_timeout_s: float = 300.0,
) -> Manifest:
    """Return the manifest of a build, after making its environment if that has not been done.

    Args:
        build: what to make.
        home: directory for everything that is made, such as ``.nox/zlbench``.
        env: the caller's environment; pip sees it.
        log: takes lines for people; nothing is said when nothing has to be done.
        run: starts a command.
        rebuild: make the overlay anew although it is there; the base, which other builds share, stays.
        install: False: install nothing; a build that is not there is an error.
        side: named in a BUILD_MISMATCH.
        import_timeout_s: limit for importing triton and torch.
    """
    home = home.absolute()
    work = _Work(
        build=build, home=home, installer=Installer(home=home, run=run, env=env, log=log),
        import_timeout_s=import_timeout_s, side=side,
    )  # fmt: skip
    survey.check_source(build)
    try:
        home.mkdir(parents=True, exist_ok=True)
        with locked(home / "locks" / f"{work.folder.name}.lock", build.name, log):
            known = None if rebuild and install else work.reuse()
            if known is None and not install:
                raise work.not_made()
            return known or work.make()
    except OSError as error:
        raise PreflightError(
            f"build {build.name}: {error.strerror or error}: {error.filename or home}",
            check=CHECK,
            hint=f"What zlbench makes for builds lies in {home}: it needs space and write access.",
        ) from error


def installed(home: Path) -> list[Manifest]:
    """Return the manifests of everything that has been made, oldest first."""
    paths = sorted(home.glob("builds/*/manifest.json"), key=lambda path: path.stat().st_mtime_ns)
    return [found for path in paths if (found := load(path)) is not None]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Work:
    build: Build
    home: Path
    installer: Installer
    import_timeout_s: float
    side: str

    @property
    def folder(self) -> Path:
        return self.home / "builds" / f"{self.build.name}-{self.build.digest()[:8]}"

    @property
    def manifest_path(self) -> Path:
        return self.folder / "manifest.json"

    @property
    def log_path(self) -> Path:
        return self.home / "logs" / f"{self.folder.name}.log"

    def reuse(self) -> Manifest | None:
        """Return the build as recorded if it is still that; None if it has to be made."""
        known = load(self.manifest_path)
        if known is None or not self._still_there(known):
            return None
        known = replace(known, env=dict(self.build.env))
        if not contents.fresh(Path(known.triton_path), known.files):
            return self._touched(known)
        if not all(contents.untouched(item) for item in known.stamps):
            return self._survey(Path(known.interpreter), known.pythonpath, known)
        if self.build.kind is BuildKind.TREE:
            found = survey.commit(Path(known.triton_path), known.triton_version, self.installer)
            return replace(known, **found)
        return known

    def _still_there(self, known: Manifest) -> bool:
        paths = (known.interpreter, known.triton_path, *known.pythonpath)
        if known.spec_digest != self.build.digest() or not all(Path(path).exists() for path in paths):
            return False
        wheel = self.build.wheel_file
        changed = wheel and [item for item in known.stamps if item.path == str(wheel)]
        if changed and not contents.untouched(changed[0]):
            self.installer.log(f"build {self.build.name}: {wheel} has changed since it was installed")
            return False
        return True

    def _touched(self, known: Manifest) -> Manifest:
        if self.build.kind is BuildKind.WHEEL:
            found = contents.record(Path(known.triton_path), known.files)
            if changed := contents.differences(known.files, found):
                raise self._mismatch(known, changed)
            known = replace(known, files=found)
            known.save(self.manifest_path)
            return known
        self.installer.log(f"build {self.build.name}: files have changed, looking at it again")
        return self._survey(Path(known.interpreter), known.pythonpath, known)

    def _mismatch(self, known: Manifest, changed: list[str]) -> BuildMismatchError:
        native = Path(known.native_path)
        now = contents.sha256(native)[:8] if native.is_file() else "missing"
        where = f"{known.triton_path} {known.triton_version}"
        return BuildMismatchError(
            side=self.side, wanted=f"{where} {known.native_sha256[:8]}", got=f"{where} {now}",
            hint=rebuild_hint(known, changed),
        )  # fmt: skip

    def not_made(self) -> PreflightError:
        """Say that a build is not there and may not be made now, or that another one bears its name."""
        command = f"nox -s build -- --rebuild {self.build.name}"
        others = [item for item in installed(self.home) if item.name == self.build.name]
        if not others:
            return PreflightError(
                f"build {self.build.name} has not been made", check="build-made", hint=f"Make it: {command}"
            )
        other = others[-1]
        asked = self.build.requirement or str(self.build.tree or self.build.python)
        return BuildMismatchError(
            side=self.side, wanted=asked,
            got=f"{other.triton_path} {other.triton_version} {other.native_sha256[:8]}",
            hint=f"Build {self.build.name} was made for something else. Make it again: {command}",
        )  # fmt: skip

    def make(self) -> Manifest:
        """Make what is missing and record it; until then nothing counts as made."""
        self.manifest_path.unlink(missing_ok=True)
        python = self.base()
        entries: list[str] = []
        if self.build.kind is BuildKind.WHEEL:
            entries.append(str(self.overlay(python)))
        elif self.build.kind is BuildKind.TREE:
            tree = Path(self.build.tree or "").absolute()
            entries.append(str(tree))
            if meta := survey.entry_points(tree, self.folder / "meta"):
                entries.append(str(meta))
        return self._survey(python, tuple(entries))

    def base(self) -> Path:
        """Return the interpreter: the given one as it is, the driver's own, or that of the shared base."""
        if self.build.python or not self.build.torch:
            return Path(self.build.python or sys.executable).absolute()
        maker = Path(sys.executable)
        wanted = (self.build.torch, *BASE_PACKAGES, *self.build.packages)
        key = json.dumps([str(maker.resolve()), *wanted])
        folder = self.home / "base" / hashlib.sha256(key.encode()).hexdigest()[:12]
        done = folder / "zlbench-complete"
        python = folder / "bin" / "python"
        with locked(self.home / "locks" / f"base-{folder.name}.lock", self.build.name, self.installer.log):
            # A system upgrade can leave a link to an interpreter that has gone.
            if done.exists() and python.exists():
                return python
            shutil.rmtree(folder, ignore_errors=True)
            log = self.home / "logs" / f"base-{folder.name}.log"
            self.installer.log(f"base: installing {' '.join(wanted)} (once; log: {log})")
            self.installer.venv(maker, folder, log)
            self.installer.install(python, wanted, log)
            done.write_text(key + "\n", encoding="utf-8")
        return python

    def overlay(self, python: Path) -> Path:
        """Install the compiler alone into its own directory, made aside and renamed when complete."""
        site = self.folder / "site"
        draft = self.folder / f"site.{os.getpid()}.tmp"
        for old in self.folder.glob("site*"):
            shutil.rmtree(old)
        wanted = self.build.requirement or ""
        self.installer.log(f"build {self.build.name}: installing {wanted} (log: {self.log_path})")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.installer.install(python, (wanted,), self.log_path, target=draft)
            draft.replace(site)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return site

    def tools(self, python: Path, version: str, present: tuple[str, ...]) -> tuple[str, ...]:
        """Return path entries with what an interpreter lacks of pytest and yaml; it is not written to."""
        pytest = (*_PYTEST, *(_BEFORE_3_11 if version == "3.10" else ()))
        wanted = (*(() if "pytest" in present else pytest), *(() if "yaml" in present else _YAML))
        if not wanted:
            return ()
        key = hashlib.sha256(json.dumps([version, *wanted]).encode()).hexdigest()[:8]
        folder = self.home / "tools" / f"py{version}-{key}"
        with locked(self.home / "locks" / f"tools-{folder.name}.lock", self.build.name, self.installer.log):
            if not folder.exists():
                draft = folder.with_name(f"{folder.name}.{os.getpid()}.tmp")
                self.installer.log(f"build {self.build.name}: installing {' '.join(wanted)} beside {python}")
                try:
                    folder.parent.mkdir(parents=True, exist_ok=True)
                    self.installer.install(python, wanted, self.log_path, target=draft)
                    draft.replace(folder)
                finally:
                    shutil.rmtree(draft, ignore_errors=True)
        return (str(folder),)

    def _survey(self, python: Path, entries: tuple[str, ...], known: Manifest | None = None) -> Manifest:
        """Look at the build through its own interpreter, and record what is there."""
        seen = survey.probe(
            python, entries, torch=bool(self.build.torch), installer=self.installer,
            timeout_s=self.import_timeout_s, name=self.build.name,
        )  # fmt: skip
        survey.check_origin(self.build, seen, entries)
        minor = ".".join(seen.python_version.split(".")[:2])
        entries = tuple(dict.fromkeys((*entries, *self.tools(python, minor, seen.tools))))
        found = survey.describe(self.build, seen, entries=entries, python=python, installer=self.installer, known=known)
        found.save(self.manifest_path)
        return found
