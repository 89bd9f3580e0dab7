"""Is the compiler that a side imports the one asked for, and do the two sides differ at all?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from zlbench.builds import contents
from zlbench.builds.manifest import same_compiler
from zlbench.errors import BuildMismatchError, PreflightError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from zlbench.builds.manifest import Manifest
    from zlbench.builds.probe import Observed

# Set by whoever started us, for its own Python, its own pytest or its own session.
_DROPPED = ("PYTHONHOME", "VIRTUAL_ENV", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_CURRENT_TEST")
_FIXED = {
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTHONSAFEPATH": "1",
    "PYTHONHASHSEED": "0",
}


def measured_env(
    manifest: Manifest, base_env: Mapping[str, str], extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the environment of a measured process.

    The caller's PYTHONPATH is kept and stays in front: a leak through it must be caught by `check_imported`,
    not hidden. Then comes the build, then what `extra` has as PYTHONPATH. Other variables of `extra` win over
    the build's, those over the caller's.
    """
    extra = extra or {}
    kept = {key: value for key, value in base_env.items() if key not in _DROPPED and not key.startswith("NOX_")}
    merged = {**kept, **_FIXED, **manifest.env, **extra}
    path = [base_env.get("PYTHONPATH", ""), *manifest.pythonpath, extra.get("PYTHONPATH", "")]
    merged["PYTHONPATH"] = os.pathsep.join(entry for entry in path if entry)
    if not merged["PYTHONPATH"]:
        del merged["PYTHONPATH"]
    if "NO_COLOR" in merged and "FORCE_COLOR" in merged:  # both at once is a usage error in nox and others
        del merged["FORCE_COLOR"]
    return merged


def check_imported(side: str, wanted: Manifest, observed: Observed) -> None:
    """Raise BuildMismatchError unless `observed` is the compiler of the manifest, by path and by content."""
    hint = ""
    changed: list[str] = []
    if observed.triton_path != wanted.triton_path:
        hint = _leak_hint(observed)
    elif observed.native_path != wanted.native_path or observed.strays:
        strange = observed.strays[0] if observed.strays else observed.native_path
        hint = f"Part of triton came from elsewhere: {strange}"
    elif changed := changed_files(wanted):
        hint = rebuild_hint(wanted, changed)
    if not hint:
        return
    native = observed.native_path
    got = contents.sha256(Path(native)) if native and Path(native).is_file() else ""
    raise BuildMismatchError(
        side=side,
        wanted=_shown(wanted.triton_path, wanted.triton_version, wanted.native_sha256),
        got=_shown(observed.triton_path, observed.triton_version, got),
        hint=hint,
    )


def changed_files(manifest: Manifest) -> list[str]:
    """Name the files of a build that no longer have the content recorded; reads only what looks touched."""
    package = Path(manifest.triton_path)
    if contents.fresh(package, manifest.files):
        return []
    return contents.differences(manifest.files, contents.record(package, manifest.files))


def rebuild_hint(manifest: Manifest, changed: list[str]) -> str:
    """Say what changed in a build that was made earlier, and what to do."""
    named = ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")
    return (
        f"Files changed since build {manifest.name} was made: {named}.\n"
        f"Make it again: nox -s build -- --rebuild {manifest.name}"
    )


def refuse_same(
    a_manifest: Manifest,
    a_switches: Mapping[str, str | None],
    b_manifest: Manifest,
    b_switches: Mapping[str, str | None],
    null_test: bool,  # noqa: FBT001 - the fifth of five facts
) -> None:
    """Raise PreflightError(SAME_BUILD) when nothing differs between the sides, unless that is what is wanted.

    A switch that is None is unset; "0" is a value.
    """
    if null_test or not same_compiler(a_manifest, b_manifest) or _set(a_switches) != _set(b_switches):
        return
    if dict(a_manifest.env) != dict(b_manifest.env):
        return
    shown = ", ".join(f"{key}={value}" for key, value in _set(a_switches).items()) or "none"
    sides = (("A", a_manifest), ("B", b_manifest))
    both = " and ".join(f"{side} ({found.name}: {found.triton_path})" for side, found in sides)
    raise PreflightError(
        f"{both} hold the same compiler, {a_manifest.label}, with the same switches ({shown})",
        check="sides-differ",
        marker="SAME_BUILD",
        hint="Every result would be noise. If that is what you want to see: --null-test.",
    )


def _set(switches: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in sorted(switches.items()) if value is not None}


def _shown(path: str, version: str, native: str) -> str:
    return f"{path} {version or '?'} {native[:8] or 'no-native-library'}"


def _leak_hint(observed: Observed) -> str:
    parent = os.path.realpath(Path(observed.triton_path).parent)
    for entry in observed.pythonpath:
        if os.path.realpath(entry) == parent:
            return (
                f"The PYTHONPATH entry {entry} shadows the build.\n"
                "Run the command again without it: env -u PYTHONPATH …"
            )
    return f"It came from {parent}, which is in the path of {observed.interpreter} ahead of the build."
