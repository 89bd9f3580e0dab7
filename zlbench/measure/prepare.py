"""From a request to workers that are ready to start: builds made and checked, switches known, environments composed."""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from zlbench import cards, proctree, store, tuning
from zlbench.axis import Side
from zlbench.backend import Backend
from zlbench.builds.check import measured_env, refuse_same
from zlbench.builds.environment import ensure
from zlbench.builds.manifest import Manifest
from zlbench.builds.suite_packages import SuitePackages
from zlbench.engine.local import WorkerSpec
from zlbench.errors import PreflightError
from zlbench.measure.ambient import (
    AABS,
    AABS_DEFAULT,
    DB_URL,
    THREADS,
    THREADS_DEFAULT,
    VENDOR_VARIABLES,
    without_dropped,
)
from zlbench.measure.request import Request
from zlbench.settings.request import environment_without_switches
from zlbench.suite.pairing import unsuited
from zlbench.suite.provider import BUILTIN
from zlbench.suite.requirements import COMPILERS, requirements
from zlbench.switchscan import require_known


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """Manifests of the sides, by label."""

    manifests: Mapping[str, Manifest]
    suite_paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Where packages that the suite needs lie, for sides that run in an environment of ours."""

    def tools(self) -> Path:
        """Folder of the binary tools: of the last side, which is the newer compiler as a rule."""
        last = list(self.manifests.values())[-1]
        return Path(last.triton_path) / "backends" / "nvidia" / "bin"


def prepare(
    request: Request, *, home: Path, env: Mapping[str, str], log: Callable[[str], None], install: bool = True
) -> Prepared:
    """Make or find the builds and refuse pairs that cannot show anything.

    Raises:
        PreflightError: a build cannot be made or is not what it was, both sides are one, a switch is read nowhere,
            a record cannot be replayed.
    """
    _require_record(request)
    _require_one_choice(request)
    # A driver that was killed outright may have left processes of its cells behind, still using the machine.
    proctree.sweep()
    manifests = {
        label: ensure(build, home=home, env=_pip_env(env), log=log, install=install, side=label)
        for label, build in request.builds.items()
    }
    axis = request.axis
    if len(manifests) == 2:
        refuse_same(manifests["A"], dict(axis.a.switches), manifests["B"], dict(axis.b.switches), axis.null_test)
    _require_known_switches(request, manifests)
    _require_suited(request, manifests, log)
    packages = SuitePackages(
        suite=request.provider.name, requirements=requirements(request.provider), left_out=COMPILERS, home=home,
        env=_pip_env(env), log=log,
    )  # fmt: skip
    paths = {label: packages.ensure(manifest, install=install) for label, manifest in manifests.items()}
    return Prepared(manifests=manifests, suite_paths=paths)


def _require_suited(request: Request, manifests: Mapping[str, Manifest], log: Callable[[str], None]) -> None:
    """A suite that calls kernels of this Triton with wrong arguments is not measured; compiling launches nothing."""
    untouched = []
    for label, manifest in manifests.items():
        problem = unsuited(request.provider, manifest.triton_version)
        if problem is None:
            continue
        if request.backend.deviceless:
            untouched.append(f"side {label} (triton {manifest.triton_version})")
        elif not request.resolved.flag("force_pairing"):
            raise PreflightError(
                f"side {label}: {problem}",
                check="suite-suits-compiler",
                hint="Take a Triton that the suite knows, or a newer suite. Compiling is sound: --backend compile.\n"
                "To measure all the same: --force-pairing.",
            )
        else:
            log(f"note: side {label}: {problem}. Measured all the same (--force-pairing).")
    if untouched:
        log(f"note: suite {request.provider.name} can be compiled, not measured, on {' and '.join(untouched)}: "
            "explain suite-suits-compiler")  # fmt: skip


FORCED = "FORCED_PAIRING"


def forced_pairing(request: Request, manifest: Manifest) -> str:
    """What was known against measuring the suite on this compiler, where it was measured all the same; else ""."""
    if request.backend.deviceless or not request.resolved.flag("force_pairing"):
        return ""
    return str(unsuited(request.provider, manifest.triton_version) or "")


def _require_known_switches(request: Request, manifests: Mapping[str, Manifest]) -> None:
    """A switch must be read by a side that sets it: an older compiler need not know what only the newer one has."""
    for switch in request.switched:
        setting = {side.label for side in request.sides if dict(side.switches).get(switch.name) is not None}
        looked = [(label, manifest) for label, manifest in manifests.items() if label in setting]
        places = [f"triton {manifest.triton_version} (side {label})" for label, manifest in looked]
        require_known(
            [switch],
            [
                *dict.fromkeys(Path(manifest.triton_path) for _, manifest in looked),
                request.provider.source_dir,
                request.provider.benchmark_dir,
            ],
            where=f"{', '.join(places)} nor in {request.provider.title}",
        )


def _require_record(request: Request) -> None:
    """A record that somebody named must be one that can be replayed here, for every operator."""
    if request.resolved.path("replay_from") is None:
        return
    without = request.backend.deviceless or not request.resolved.flag("autotune")
    if without:
        why = "nothing is tuned with no device" if request.backend.deviceless else "--autotune 0 leaves choices alone"
        raise PreflightError(
            f"--replay-from has no effect: {why}", check="replay-source", hint="Leave --replay-from (REPLAY_FROM) out."
        )
    for selection in request.selections:
        tuning.check_source(
            request.replays_from, op=selection.op, backend=request.backend.name, suite=request.provider.package
        )


def _require_one_choice(request: Request) -> None:
    """Sides that both choose for themselves are never compared, so that nothing is measured for that."""
    if len(request.sides) < 2 or request.backend.deviceless or request.resolved.flag("autotune"):
        return
    if request.resolved.flag("allow_caliber_mismatch"):
        return
    raise PreflightError(
        "with --autotune 0 each side chooses its own configs, and no pair would be compared (RECORD_VS_RECORD)",
        check="one-choice",
        hint="Leave --autotune 0 (ZL_ENABLE_AUTOTUNE=0) out: B then replays what A chose.\n"
        "To measure all the same, with every pair marked: --allow-caliber-mismatch.",
    )


def _pip_env(env: Mapping[str, str]) -> dict[str, str]:
    """A PYTHONPATH meant for measured processes must not shadow pip's own modules."""
    return {key: value for key, value in env.items() if key not in ("PYTHONPATH", "PYTHONHOME")}


def worker_specs(request: Request, prepared: Prepared, *, work_dir: Path, env: Mapping[str, str]) -> list[WorkerSpec]:
    """Describe the measured process of each side."""
    return [_worker(request, side, prepared, work_dir, env) for side in request.sides]


def _worker(request: Request, side: Side, prepared: Prepared, work_dir: Path, env: Mapping[str, str]) -> WorkerSpec:
    manifest = prepared.manifests[side.label]
    cache = _cache(request, side, work_dir)
    base = with_vendor(without_dropped(environment_without_switches(env, request.axis)), request.backend)
    extra = {
        "PYTHONPATH": os.pathsep.join(
            [str(work_dir / OWN), *prepared.suite_paths.get(side.label, ()), str(request.provider.source_dir)]
        ),
        "TRITON_CACHE_DIR": str(cache / "triton"),
        "ZL_CACHE_OWNER": f"{work_dir.parent.name}/{side.label}",
        "USE_FLAGTUNE": "1" if request.resolved.flag("use_flagtune") else "0",
        # On by default in FlagTree, unknown elsewhere: winners would come from spaces that are not the same.
        AABS: base.get(AABS, AABS_DEFAULT),
        tuning.COMPILER_VARIABLE: tuning.compiler_text(manifest.fingerprint()),
        THREADS: base.get(THREADS, THREADS_DEFAULT),
    }
    if request.resolved.flag("isolate_tuner_cache"):
        extra["FLAGGEMS_CACHE_DIR"] = str(cache / "tuner")
        base.pop(DB_URL, None)
    extra |= request.backend.environment
    variable = cards.visibility_variable(request.backend, env)
    if variable and request.devices is not None:
        extra[variable] = ",".join(request.devices)
    return WorkerSpec(
        side=side.label,
        interpreter=Path(manifest.interpreter),
        safe_path=_version(manifest.python_version) >= (3, 11),
        env=side.environment(measured_env(manifest, base, extra)),
        work_dir=work_dir,
        opening={
            "torch": manifest.torch_version is not None,
            "timer": request.timer,
            "device_module": request.backend.device_module,
            "torch_package": request.backend.torch_package,
            # Said where torch finds no card in this interpreter.
            "device_absent": _why_no_card(request, side, env),
            "targets": [target for target in request.targets if target],
            "plugins": list(request.resolved.texts("extra_plugins")),
            "package": request.provider.package,
            "preload": _preload(request),
            # One operator's winners must not be another's: each cell finds its side's tuner cache empty.
            "wipe": [str(cache / "tuner")] if _wiped(request) else [],
        },
    )


def with_vendor(env: Mapping[str, str], backend: Backend) -> dict[str, str]:
    """Name the vendor before the suite is imported: unnamed, it asks every vendor's tool, and some of them hang.

    What the caller has named counts. PPU_SDK would make it T-Head's whatever the other variables say.
    """
    vendor = next((env[name] for name in VENDOR_VARIABLES if env.get(name)), backend.vendor).lower()
    kept = {name: value for name, value in env.items() if name != "PPU_SDK" or vendor == "thead"}
    return {**kept, VENDOR_VARIABLES[0]: vendor} if vendor else kept


def _why_no_card(request: Request, side: Side, env: Mapping[str, str]) -> str:
    absent = cards.why_absent(request.backend, env)
    if request.builds[side.label].python is None:
        has = "Environments that zlbench makes hold a torch without a device: give one that has it"
    else:
        package = request.backend.torch_package
        has = f"Give an interpreter whose torch has it{f', with {package}' if package else ''}"
    named = "--a and --b" if len(request.builds) > 1 else "--build"
    return "\n".join(filter(None, (absent, f"{has}, {named} /path/to/python.")))


def _preload(request: Request) -> list[str]:
    """What a worker imports once for all its cells: on a card any suite, whose questions to it are answered."""
    shared = not request.backend.deviceless or request.provider.name == BUILTIN
    return [request.provider.package] if shared else []


def _wiped(request: Request) -> bool:
    """Whether cells of a side follow each other, so that a folder can be emptied between them."""
    return not request.backend.deviceless and request.resolved.flag("isolate_tuner_cache")


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


OWN = "own"
_OWN_PACKAGES = ("zlbench", "zlbench_plugins", "zlbench_backends")


def _cache(request: Request, side: Side, work_dir: Path) -> Path:
    return work_dir / ("shared" if request.share_cache else side.label)


def make_work_dir(request: Request, work_dir: Path) -> None:
    """Make what the workers find: a fresh cache for each side, and our packages.

    Our packages are links in a folder of their own. Neither a checkout's root nor a site-packages may enter the
    measured interpreter's path: both hold things that would shadow its own (another pytest, a folder ``plugins``).
    """
    with store.clear_errors(work_dir):
        for side in request.sides:
            cache = _cache(request, side, work_dir)
            shutil.rmtree(cache, ignore_errors=True)
            for name in ("triton", "tuner"):
                (cache / name).mkdir(parents=True, exist_ok=True)
        (work_dir / OWN).mkdir(exist_ok=True)
        for name in _OWN_PACKAGES:
            link = work_dir / OWN / name
            link.unlink(missing_ok=True)
            package = Path(str(importlib.import_module(name).__file__)).resolve().parent
            link.symlink_to(package, target_is_directory=True)


def tidy_work_dir(request: Request, work_dir: Path) -> None:
    """Remove the caches; the workers' own logs stay."""
    for side in request.sides:
        shutil.rmtree(_cache(request, side, work_dir), ignore_errors=True)
    shutil.rmtree(work_dir / OWN, ignore_errors=True)
