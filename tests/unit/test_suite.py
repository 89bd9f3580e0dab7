"""Suites: recognition, inventory from source text, and what a person's word means."""

from __future__ import annotations

import os
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.errors import PreflightError, UsageError
from zlbench.suite import (
    Inventory,
    Selection,
    find_provider,
    read_inventory,
    resolve_all,
    resolve_operators,
    safe_dirname,
)
from zlbench.suite.provider import PREFIXES, WHERE, content_hash, suite_commit

FILES = {
    "conftest.py": "",
    "base.py": "class Benchmark: ...\nclass UnaryReductionBenchmark(Benchmark): ...\n",
    "test_softmax.py": """
import pytest
@pytest.mark.softmax
def test_softmax():
    base.UnaryReductionBenchmark(op_name="softmax", torch_op=None).run()
@pytest.mark.softmax_backward
def test_softmax_backward():
    base.UnaryReductionBenchmark(op_name="softmax", torch_op=None, is_backward=True).run()
""",
    "test_fft.py": """
import pytest
class FftBenchmark(Benchmark): ...
@pytest.mark.fft
@pytest.mark.skipif(not CUDA, reason="CUDA required")
def test_perf_fft():
    FftBenchmark("fft", None).run()
""",
    "test_marlin.py": """
import pytest
@pytest.mark.fused_marlin_moe
def test_fused_marlin_moe_int4():
    bench = Benchmark(op_name="fused_marlin_moe")
@pytest.mark.fused_marlin_moe
def test_fused_marlin_moe_int8():
    bench = Benchmark(op_name="fused_marlin_moe")
""",
    "test_nextafter.py": "def test_nextafter_(): Benchmark(op_name='nextafter_in')\n",
    "test_nextafter_.py": "def test_nextafter_(): Benchmark(op_name='nextafter_out')\n",
    "test_gone.py": """
import pytest
@pytest.mark.skip(reason="broken upstream")
def test_gone(): Benchmark(op_name="gone")
@pytest.mark.skipif(True, reason="always")
def test_gone_too(): Benchmark(op_name="gone_too")
""",
    "test_FLA/test_chunk.py": "def test_chunk(): Benchmark(op_name=name)\n",
    "test_chunk.py": "def test_chunk(): Benchmark(op_name=name)\n",
    "test_torn.py": "def test_(:\n",
}


def make_suite(root: Path, package: str = "flag_gems", files: dict[str, str] = FILES) -> Path:
    (root / "src" / package).mkdir(parents=True)
    (root / "src" / package / "__init__.py").touch()
    for name, text in files.items():
        path = root / "benchmark" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def inventory(tmp_path: Path) -> Inventory:
    return read_inventory(find_provider(str(make_suite(tmp_path / "suite")), cwd=tmp_path))


def resolve(inventory: Inventory, *requests: str) -> list[Selection]:
    return list(resolve_operators(requests, [inventory]))


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("flag_gems", "flag_gems"),
        ("flaggems_vllm", "flaggems_vllm"),
        ("zlbench_builtin", "builtin"),
        ("my_ops", "directory"),
    ],
)
def test_a_suite_is_recognised_from_its_directory(tmp_path: Path, package: str, name: str) -> None:
    provider = find_provider(str(make_suite(tmp_path / "x", package)), cwd=tmp_path)
    assert (provider.name, provider.package) == (name, package)
    assert provider.package_dir.is_dir()


def test_the_builtin_suite_is_found_from_any_directory(tmp_path: Path) -> None:
    provider = find_provider("builtin", cwd=tmp_path)
    assert provider.package == "zlbench_builtin"
    assert {"topk", "fft", "softmax", "mm"} <= set(read_inventory(provider).names().values())


@pytest.mark.parametrize("suite", ["nowhere", "biultin", "suite/benchmark", "."])
def test_a_directory_that_is_no_suite_is_a_preflight_failure(tmp_path: Path, suite: str) -> None:
    make_suite(tmp_path / "suite")
    with pytest.raises(PreflightError) as caught:
        find_provider(suite, cwd=tmp_path)
    assert caught.value.check == "suite-directory"


def test_a_flaggems_of_the_older_layout_is_refused_in_its_own_words(tmp_path: Path) -> None:
    files = {"conftest.py": "", "performance_utils.py": "class Benchmark: ...\n"}
    with pytest.raises(PreflightError, match=r"older layout \(benchmark/performance_utils.py, no") as caught:
        find_provider(str(make_suite(tmp_path / "old", files=files)), cwd=tmp_path)
    assert (caught.value.check, "2026" in caught.value.hint) == ("suite-directory", True)
    (tmp_path / "old" / "benchmark" / "base.py").touch()
    assert find_provider(str(tmp_path / "old"), cwd=tmp_path).name == "flag_gems"


def test_two_unknown_packages_are_refused(tmp_path: Path) -> None:
    root = make_suite(tmp_path / "suite", "one")
    (root / "src" / "two").mkdir()
    (root / "src" / "two" / "__init__.py").touch()
    with pytest.raises(PreflightError, match="one, two"):
        find_provider(str(root), cwd=tmp_path)


def test_inventory_reads_names_marks_skips_and_classes_without_importing(inventory: Inventory) -> None:
    by_function = {benchmark.function: benchmark for benchmark in inventory.benchmarks}
    fft = by_function["test_perf_fft"]
    assert (fft.op_name, fft.markers, fft.skip) == ("fft", ("fft",), "")
    assert by_function["test_softmax_backward"].op_name == "softmax_backward"
    assert by_function["test_gone"].skip == "broken upstream"
    assert by_function["test_gone_too"].skip == "always"
    assert {"UnaryReductionBenchmark", "FftBenchmark"} <= set(inventory.classes)
    assert {"softmax", "FftBenchmark"} <= inventory.shape_keys()
    assert [problem.split(":")[0] for problem in inventory.problems] == ["benchmark/test_torn.py"]


def test_names_are_unique(inventory: Inventory) -> None:
    names = list(inventory.names().values())
    assert len(set(names)) == len(names)
    assert len({safe_dirname(name) for name in names}) == len(names)


@pytest.mark.parametrize(
    ("request_", "node"),
    [
        ("fft", "benchmark/test_fft.py::test_perf_fft"),
        ("perf_fft", "benchmark/test_fft.py::test_perf_fft"),
        ("perf_fft:fft", "benchmark/test_fft.py::test_perf_fft"),
        ("fft:fft", "benchmark/test_fft.py::test_perf_fft"),
        ("test_perf_fft:test_fft.py", "benchmark/test_fft.py::test_perf_fft"),
        ("softmax", "benchmark/test_softmax.py::test_softmax"),
        ("softmax_backward", "benchmark/test_softmax.py::test_softmax_backward"),
        ("fused_marlin_moe_int8", "benchmark/test_marlin.py::test_fused_marlin_moe_int8"),
        ("nextafter_@nextafter_", "benchmark/test_nextafter_.py::test_nextafter_"),
        ("nextafter_@nextafter", "benchmark/test_nextafter.py::test_nextafter_"),
        ("chunk@test_FLA/test_chunk", "benchmark/test_FLA/test_chunk.py::test_chunk"),
        ("benchmark/test_fft.py::test_perf_fft", "benchmark/test_fft.py::test_perf_fft"),
        ("test_fft.py::test_perf_fft[case-1]", "benchmark/test_fft.py::test_perf_fft"),
        ("gems:fft", "benchmark/test_fft.py::test_perf_fft"),
    ],
)
def test_operators_are_named_as_a_person_says_them(inventory: Inventory, request_: str, node: str) -> None:
    (selection,) = resolve(inventory, request_)
    assert selection.node_id == f"{inventory.provider.root}/{node}"


def test_every_listed_name_resolves_to_its_own_benchmark(inventory: Inventory) -> None:
    for benchmark, name in inventory.names().items():
        (selection,) = resolve(inventory, name)
        assert selection.benchmark == benchmark


def test_an_absolute_node_id_resolves(inventory: Inventory) -> None:
    node = f"{inventory.provider.root}/benchmark/test_fft.py::test_perf_fft"
    assert [selection.node_id for selection in resolve(inventory, node)] == [node]


def test_dtypes_belong_to_one_operator(inventory: Inventory) -> None:
    (fft, softmax) = resolve(inventory, "perf_fft:fft:complex64", "softmax::fp16,bf16")
    assert fft.dtypes == ("complex64",)
    assert softmax.dtypes == ("float16", "bfloat16")


@pytest.mark.parametrize(
    ("requests", "dtypes"),
    [
        (("softmax::float16", "softmax::float32"), ("float16", "float32")),
        (("softmax::fp16,bf16", "softmax::float32,float16"), ("float16", "bfloat16", "float32")),
        (("softmax::float16", "softmax"), ()),
        (("softmax", "softmax::float16"), ()),
        (("softmax", "softmax::float16", "softmax::float32"), ()),
    ],
)
def test_an_operator_named_twice_gets_the_dtypes_of_both(
    inventory: Inventory, requests: tuple[str, ...], dtypes: tuple[str, ...]
) -> None:
    (found,) = resolve(inventory, *requests)
    assert found.dtypes == dtypes


def test_a_glob_names_many_and_a_benchmark_named_twice_is_measured_once(inventory: Inventory) -> None:
    found = resolve(inventory, "softmax*", "softmax", "fft", "perf_fft")
    assert [selection.op for selection in found] == ["softmax", "softmax_backward", "fft"]


def test_a_glob_that_fits_nothing_is_refused(inventory: Inventory) -> None:
    with pytest.raises(UsageError, match=r"zzz\*"):
        resolve(inventory, "zzz*")


def test_all_leaves_out_unconditional_skips_and_says_so(inventory: Inventory) -> None:
    chosen, skipped = resolve_all(inventory)
    assert {selection.op for selection in skipped} == {"gone", "gone_too"}
    assert "fft" in {selection.op for selection in chosen}


@pytest.mark.parametrize(
    ("word", "nearest"), [("ftf", "fft"), ("sofmax", "softmax"), ("softmax_bakward", "softmax_backward")]
)
def test_an_unknown_operator_names_the_nearest(inventory: Inventory, word: str, nearest: str) -> None:
    with pytest.raises(UsageError, match=f"Nearest: .*{nearest}"):
        resolve(inventory, word)


def test_an_ambiguous_operator_lists_how_to_name_each(inventory: Inventory) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(inventory, "fused_marlin_moe")
    lines = caught.value.hint.splitlines()
    assert len(lines) == 2
    for line in lines:
        (selection,) = resolve(inventory, line.split()[0])
        assert selection.benchmark.node == line.split()[1]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("vllm:softmax", "suite flaggems_vllm"),
        ("softmax:fft", "in benchmark/test_fft.py"),
        ("softmax:ftf", "Nearest: test_fft.py"),
        ("softmax:fp16", "the second part is a file"),
        ("softmax::fp17", "no dtype named fp17"),
        ("benchmark/test_fft.py::test_fft", "Nearest: benchmark/test_fft.py::test_perf_fft"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_reason(inventory: Inventory, word: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(inventory, word)
    assert said in caught.value.message


def test_a_prefix_without_its_checkout_says_what_it_is(inventory: Inventory) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(inventory, "vllm:softmax")
    assert "flagos-ai/FlagGems-vllm" in caught.value.hint
    assert "--suite DIR" in caught.value.hint
    assert set(PREFIXES.values()) == set(WHERE)


def test_a_prefix_chooses_the_suite(tmp_path: Path, inventory: Inventory) -> None:
    vllm = read_inventory(find_provider(str(make_suite(tmp_path / "vllm", "flaggems_vllm")), cwd=tmp_path))
    (selection,) = resolve_operators(["vllm:fft"], [inventory, vllm])
    assert selection.provider.name == "flaggems_vllm"


@given(st.text(max_size=400))
def test_no_word_does_anything_but_resolve_or_be_refused(word: str) -> None:
    with pytest.raises(UsageError):
        resolve_operators([f"{word}\x00"], [INVENTORY])
    try:
        found = resolve_operators([word], [INVENTORY])
    except UsageError as error:
        message = error.message
    else:
        message = ""
        assert all(selection.benchmark in INVENTORY.benchmarks for selection in found)
    assert len(message) < 1200
    assert "\x00" not in message


INVENTORY = read_inventory(find_provider("builtin", cwd=Path("/")))
HOSTILE = [
    "../../x",
    "..",
    ".",
    "",
    "/",
    "/etc/passwd",
    ";rm -rf ~",
    "$(id)",
    "a\nb",
    "a\x00b",
    "x" * 5000,
    "-rf",
    "ä/ö",
    ".hidden",
    "a..",
    " ",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        resolve_operators([name], [INVENTORY])


@given(st.one_of(st.text(), st.text(alphabet="./\\-~$;`'\" \n\x00ab", max_size=20), st.sampled_from(HOSTILE)))
def test_no_name_escapes_its_directory(name: str) -> None:
    directory = safe_dirname(name)
    assert directory not in ("", ".", "..")
    assert directory[0] not in ".-"
    assert set(directory) <= set(string.ascii_letters + string.digits + "._@+-")
    assert len(os.fsencode(directory)) <= 96
    assert Path("/runs", directory).resolve().parent == Path("/runs").resolve()


@given(st.text(max_size=30), st.text(max_size=30))
def test_different_names_have_different_directories(one: str, other: str) -> None:
    assert (safe_dirname(one) == safe_dirname(other)) == (one == other)


def test_the_cache_is_used_until_a_file_changes(tmp_path: Path) -> None:
    root = make_suite(tmp_path / "suite")
    provider, cache = find_provider(str(root), cwd=tmp_path), tmp_path / "cache" / "inventory.json"
    first = read_inventory(provider, cache=cache)
    assert read_inventory(provider, cache=cache) == first
    (root / "benchmark" / "test_new.py").write_text("def test_new(): Benchmark('new')\n", encoding="utf-8")
    assert "new" in read_inventory(provider, cache=cache).names().values()
    cache.write_text('{"stamp": 1', encoding="utf-8")
    assert "new" in read_inventory(provider, cache=cache).names().values()


def test_the_content_hash_sees_an_edit_and_not_a_bytecode_file(tmp_path: Path) -> None:
    provider = find_provider(str(make_suite(tmp_path / "suite")), cwd=tmp_path)
    before = content_hash(provider)
    (provider.package_dir / "__pycache__").mkdir()
    (provider.package_dir / "__pycache__" / "x.py").write_text("1", encoding="utf-8")
    assert content_hash(provider) == before
    (provider.package_dir / "__init__.py").write_text("x = 1\n", encoding="utf-8")
    assert content_hash(provider) != before


def test_the_commit_is_read_from_a_loose_ref_a_packed_ref_or_a_detached_head(tmp_path: Path) -> None:
    commit, git = "a1" * 20, tmp_path / ".git"
    assert suite_commit(tmp_path) is None
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    assert suite_commit(tmp_path) is None
    (git / "packed-refs").write_text(f"# pack-refs\n{commit} refs/heads/main\n", encoding="utf-8")
    assert suite_commit(tmp_path) == commit
    (git / "refs" / "heads" / "main").write_text(f"{'b2' * 20}\n", encoding="utf-8")
    assert suite_commit(tmp_path) == "b2" * 20
    (git / "HEAD").write_text(f"{commit}\n", encoding="utf-8")
    assert suite_commit(tmp_path) == commit
