"""The project as a whole: its tree, what goes into a wheel, what the core may import, what CI runs."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from zlbench.markers import MARKERS
from zlbench.settings.table import OPTIONS, PREDECESSOR_VARIABLES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS = ("zlbench", "plugins", "backends", "sessions", "ops", "shapes", "tests", "docs", "benchmarks")
FILES = ("noxfile.py", "zlbench.toml", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md")


def run(*argv: str | Path, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command with nothing of the caller's Python path."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "NOX", "ZL"))}
    words = [str(word) for word in argv]
    return subprocess.run(
        words, cwd=cwd, env={**clean, **env}, capture_output=True, text=True, check=False, timeout=120
    )


def tracked() -> list[Path]:
    """Files of the repository; outside git (an unpacked sdist) whatever lies there."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed.returncode == 0:
        return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]
    return [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]


def texts() -> Iterator[tuple[Path, str]]:
    """Every text file but recorded data, which holds the paths of whoever recorded it."""
    for path in tracked():
        if "data" not in path.relative_to(ROOT).parts and b"\0" not in path.read_bytes()[:4096]:
            yield path, path.read_text(encoding="utf-8")


# The tree.


def test_the_fixed_names_are_there() -> None:
    assert [name for name in FOLDERS if not (ROOT / name).is_dir()] == []
    assert [name for name in FILES if not (ROOT / name).is_file()] == []


def test_the_noxfile_is_thin() -> None:
    lines = (ROOT / "noxfile.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 40
    assert lines[0] == "# /// script"


def test_no_file_names_this_machine_or_a_registry() -> None:
    places = re.compile(
        r"(?<![\w.~-])/(?:root|work|workspace|mnt|data|home/(?!ada\b)[a-z]+)/[\w.-]"
        r"|\b(?:pypi\.org|pythonhosted\.org|download\.pytorch\.org|mirrors?\.[a-z]+\.[a-z]+)\b"
    )
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path, text in texts()
        if path != Path(__file__)
        for number, line in enumerate(text.splitlines(), 1)
        if places.search(line)
    ]
    assert found == []


def test_the_licence_is_the_whole_text() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert PYPROJECT["project"]["license"] == "Apache-2.0"


# Imports.


BLOCKER = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ImportError(f"{{name}} is blocked")
sys.meta_path.insert(0, Blocked())
sys.path[:0] = {path!r}
"""
WALK = """
import importlib, pkgutil
package = importlib.import_module("zlbench")
names = [info.name for info in pkgutil.walk_packages(package.__path__, "zlbench.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names))
"""


def test_the_core_imports_without_torch_triton_nox_and_pytest() -> None:
    blocked = ("torch", "triton", "nox", "pytest", "numpy", "tabulate", "scipy", "rich")
    path = [str(ROOT), str(ROOT / "backends")]
    done = run(sys.executable, "-c", BLOCKER.format(blocked=blocked, path=path) + WALK)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50


def test_the_bootstrap_needs_the_standard_library_alone() -> None:
    code = BLOCKER.format(blocked=("nox", "yaml", "zlbench"), path=[str(ROOT / "sessions")])
    done = run(
        sys.executable, "-I", "-S", "-c", code + "from zlbench_sessions import bootstrap; bootstrap.REQUIREMENTS"
    )
    assert done.returncode == 0, done.stderr


def test_a_python_that_is_too_old_is_told_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from zlbench_sessions import bootstrap

    monkeypatch.setattr(bootstrap.sys, "version_info", (3, 9, 18))
    assert bootstrap.main(ROOT, []) == 3
    assert "3.10 or later" in capsys.readouterr().err


def test_a_checkout_that_cannot_be_written_is_one_message(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from zlbench_sessions import bootstrap

    (tmp_path / ".nox").write_text("a file where a folder should be")
    assert bootstrap.main(tmp_path, ["-l"]) == 3
    assert "cannot be written" in capsys.readouterr().err


# Words in capitals.


ENVIRONMENT = re.compile(
    r"(?:ZL|ZLBENCH|TRITON|PIP|PYTHON|PYTEST|NOX|GIT|GITHUB|CUDA|HIP|GEMS|FLAGGEMS|FLAGTREE|OMP|DEBIAN|DISABLE)_\w+"
    r"|VIRTUAL_ENV|NO_COLOR|FORCE_COLOR|BLOCK_SIZE_M|PPU_SDK|PYTORCH_\w+"
    r"|(?:NVIDIA|TORCH)_\w+|PRECISION_MODE|USE_C_EXTENSION|OFF_ASYNC|XDG_RUNTIME_DIR|SC_CLK_TCK"
)


def spoken_words(path: Path) -> set[str]:
    """Words in capitals with an underscore in the strings of a module; docstrings are not printed."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    strings = (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    )
    return {word for text in strings for word in re.findall(r"\b[A-Z]{2,}(?:_[A-Z]+)+\b", text)}


def test_every_word_in_capitals_is_explained() -> None:
    variables = {*PREDECESSOR_VARIABLES, *(name for option in OPTIONS for name in option.env)}
    files = [path for folder in ("zlbench", "plugins", "sessions") for path in (ROOT / folder).rglob("*.py")]
    found = {
        f"{word} in {path.relative_to(ROOT)}"
        for path in files
        for word in spoken_words(path)
        if word not in MARKERS and word not in variables and not ENVIRONMENT.fullmatch(word)
    }
    assert found == set()


# Packaging.


def test_every_package_is_shipped() -> None:
    assert PYPROJECT["tool"]["hatch"]["build"]["skip-excluded-dirs"], "links in runs/ hide the packages behind them"
    built = PYPROJECT["tool"]["hatch"]["build"]["targets"]
    packages = built["wheel"]["packages"]
    assert sorted(packages) == [
        "backends/zlbench_backends",
        "plugins/zlbench_plugins",
        "sessions/zlbench_sessions",
        "zlbench",
    ]
    assert all((ROOT / name / "__init__.py").is_file() and (ROOT / name / "py.typed").is_file() for name in packages)
    assert built["wheel"]["force-include"] == {"shapes": "zlbench/_data/shapes", "ops": "zlbench/_data/ops"}
    included = {name.strip("/") for name in built["sdist"]["include"]}
    assert included == {*FOLDERS, *FILES} - {"pyproject.toml"}


def test_torch_and_triton_are_never_installed_along() -> None:
    wanted = " ".join(PYPROJECT["project"]["dependencies"])
    assert "torch" not in wanted
    assert "triton" not in wanted


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an unpacked wheel that was built from an unpacked sdist."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed here")
    folder = tmp_path_factory.mktemp("dist")
    made = run(sys.executable, "-m", "hatchling", "build", "-d", folder / "first", "-t", "sdist")
    assert made.returncode == 0, made.stderr
    unpack(next((folder / "first").glob("*.tar.gz")), folder / "sdist")
    (source,) = (folder / "sdist").iterdir()
    made = run(sys.executable, "-m", "hatchling", "build", "-d", folder / "second", "-t", "wheel", cwd=source)
    assert made.returncode == 0, made.stderr
    with zipfile.ZipFile(next((folder / "second").glob("*.whl"))) as wheel:
        wheel.extractall(folder / "site")
    return folder / "site"


def unpack(archive: Path, target: Path) -> None:
    """Unpack a sdist of our own."""
    target.mkdir()
    done = run("tar", "-xzf", archive, "-C", target)
    assert done.returncode == 0, done.stderr


def test_a_wheel_holds_code_suite_and_shapes_and_nothing_else(installed: Path) -> None:
    top = {path.name for path in installed.iterdir()}
    assert {name for name in top if not name.endswith(".dist-info")} == {
        "zlbench", "zlbench_plugins", "zlbench_backends", "zlbench_sessions",
    }  # fmt: skip
    assert (installed / "zlbench/_data/ops/builtin/benchmark/conftest.py").is_file()
    assert (installed / "zlbench/_data/ops/builtin/src/zlbench_builtin/__init__.py").is_file()
    assert (installed / "zlbench/_data/shapes/llama3-8b.yaml").is_file()
    assert [path for path in installed.rglob("*") if path.suffix in (".pyc", ".so")] == []


def test_the_command_works_from_a_wheel(installed: Path, tmp_path: Path) -> None:
    path = f"import sys; sys.path.insert(0, {str(installed)!r})"
    code = f"{path}\nfrom zlbench.cli import main\nsys.exit(main(sys.argv[1:]))"
    shown = run(sys.executable, "-c", code, "--help", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "exit codes: 0 ok" in shown.stdout
    listed = run(sys.executable, "-c", code, "screen", "--list", cwd=tmp_path)
    assert listed.returncode == 0, listed.stderr
    assert "topk" in listed.stdout


def test_three_lines_give_another_repository_the_sessions(installed: Path, tmp_path: Path) -> None:
    pytest.importorskip("nox")
    (tmp_path / "noxfile.py").write_text(
        "from pathlib import Path\nfrom zlbench_sessions import register\nregister(Path(__file__).parent)\n"
    )
    listed = run(sys.executable, "-m", "nox", "-l", cwd=tmp_path, PYTHONPATH=str(installed))
    assert listed.returncode == 0, listed.stderr
    assert "* screen" in listed.stdout
    assert "build(triton-3.6.0)" in listed.stdout
    assert "lint" not in listed.stdout


# nox from anywhere.


def test_the_console_script_lists_the_sessions_from_elsewhere() -> None:
    nox = Path(sys.prefix) / "bin" / "nox"
    if not nox.exists():
        pytest.skip("nox is not installed here")
    listed = run(nox, "-f", ROOT / "noxfile.py", "-l", cwd=Path("/"))
    assert listed.returncode == 0, listed.stderr
    lines = listed.stdout.splitlines()
    selected = [line.split()[1] for line in lines if line.startswith("* ")]
    skipped = [line.split()[1] for line in lines if line.startswith("- ")]
    assert selected == ["screen"]
    assert {"screen(ampere)", "run(ampere)", "build(triton-3.9.0)", "tests", "lint", "types"} <= set(skipped)


# What CI runs.


def hooks() -> dict[str, str]:
    """Entries of the pre-commit hooks with what they install."""
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    return {hook["id"]: hook["additional_dependencies"] for repo in config["repos"] for hook in repo["hooks"]}


def test_pre_commit_uses_the_ruff_of_the_lint_session() -> None:
    (ruff,) = (word for word in PYPROJECT["dependency-groups"]["lint"] if word.startswith("ruff"))
    assert hooks() == {"ruff-check": [ruff], "ruff-format": [ruff]}


def test_the_workflow_is_pinned_and_may_only_read() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert workflow["permissions"] == {"contents": "read"}
    assert "group" in workflow["concurrency"]
    assert all(re.search(r"@[0-9a-f]{40}\Z", step["uses"]) for step in steps if "uses" in step)
    assert all(job["timeout-minutes"] for job in workflow["jobs"].values())
    ran = [step["run"] for step in steps if "run" in step]
    assert all(command.startswith("python noxfile.py -s ") for command in ran)


def test_the_ci_script_can_be_run() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert run("bash", "-n", script).returncode == 0
    assert "noxfile.py -s lint types tests" in script.read_text(encoding="utf-8")
