"""``zlbench build``: make the environments of compiler builds and say what is in them."""

from __future__ import annotations

from zlbench.builds.environment import ensure
from zlbench.builds.manifest import Manifest
from zlbench.builds.spec import Build, parse_build
from zlbench.cli.app import App
from zlbench.errors import ExitCode
from zlbench.settings import axis_of
from zlbench.text import columns


def run(app: App) -> ExitCode:
    """Make the builds named, or both of the axis, and print their manifests in short."""
    builds = wanted(app)
    if app.resolved.flag("dry_run"):
        for build in builds:
            app.result(f"{build.name}  {build.kind.value}  {build.requirement or build.python or build.tree}")
        return ExitCode.OK
    rebuild = app.resolved.flag("rebuild")
    manifests = [
        ensure(build, home=app.home, env=app.env, log=app.talk, rebuild=rebuild, side=build.name) for build in builds
    ]
    if app.resolved.flag("json"):
        app.json([manifest.fingerprint() for manifest in manifests])
        return ExitCode.OK
    for line in table(manifests):
        app.result(line)
    return ExitCode.OK


def wanted(app: App) -> list[Build]:
    """The builds that the command names; without any, those of the axis."""
    known = app.project.known_builds()
    names = app.resolved.texts("builds")
    if not names:
        axis = axis_of(app.resolved, app.project)
        names = tuple(dict.fromkeys(side.build for side in axis.sides))
    return [parse_build(name, known, cwd=app.cwd) for name in names]


def table(manifests: list[Manifest]) -> list[str]:
    """One line a build: version, hashes of its parts, where it lies."""
    rows = [
        (
            manifest.name, manifest.kind.value, manifest.triton_version, manifest.native_sha256[:8],
            manifest.python_sha256[:8], manifest.torch_version or "-", (manifest.commit or "-")[:12],
            manifest.triton_path,
        )
        for manifest in manifests
    ]  # fmt: skip
    return columns(("build", "kind", "triton", "libtriton", "python part", "torch", "commit", "imported from"), rows)
