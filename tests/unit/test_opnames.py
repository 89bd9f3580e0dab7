"""Names from source text: every way in which a suite names what it measures, and that each name finds its benchmark."""

from __future__ import annotations

import os
import string
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.errors import UsageError
from zlbench.suite import Benchmark, Inventory, Provider, find_provider, read_inventory, resolve_operators

FILES = {
    "conftest.py": "",
    "base.py": "class Benchmark: ...\nclass GenericBenchmark(Benchmark): ...\n",
    "test_mm.py": """
import pytest
@pytest.mark.mm
def test_mm():
    bench = MmBenchmark("mm", torch.mm)
    bench.run()
@pytest.mark.mm
def test_mm_self_transpose_benchmark():
    SelfBenchmark(torch_op=torch.mm, op_name="mm_self_transpose").run()
""",
    "test_many.py": """
import pytest
OPS = [("mv", torch.mv), ("outer", torch.outer)]
KINDS = ("amax", "amin")
@pytest.mark.parametrize(
    "op_name, torch_op",
    [pytest.param("addmm", torch.addmm, marks=pytest.mark.addmm), pytest.param("mm", torch.mm, marks=pytest.mark.mm)],
)
def test_blas_benchmark(op_name, torch_op):
    base.Benchmark(op_name=op_name, torch_op=torch_op).run()
@pytest.mark.parametrize("op_name, op", OPS)
def test_rows(op_name, op):
    base.Benchmark(op_name, op).run()
@pytest.mark.index_reduce_
@pytest.mark.parametrize("kind", KINDS)
def test_index_reduce(kind):
    base.GenericBenchmark(op_name=f"index_reduce_.{kind}").run()
def test_loop():
    for name, op in OPS:
        base.Benchmark("loop_" + name, op).run()
def test_to_copy():
    for src in dtypes():
        base.Benchmark(op_name=f"to_copy_{src}_to_float16").run()
""",
    "test_classes.py": """
class Kit:
    def __init__(self, text): ...
class NamedBenchmark(Benchmark):
    def __init__(self, op, op_name="named", dtypes=None):
        super().__init__(op_name, op, dtypes)
class HandsOnBenchmark(Benchmark):
    def __init__(self):
        super().__init__("hands_on", None, [torch.float16])
class HandsOnByWordBenchmark(Benchmark):
    def __init__(self, op):
        super().__init__(torch_op=op, op_name="by_word", is_backward=True)
class ChildBenchmark(HandsOnBenchmark): ...
class BenchmarkOfAnotherStyle(Benchmark): ...
def test_default(): NamedBenchmark(torch.x).run()
def test_second(): NamedBenchmark(torch.x, "second").run()
def test_hands_on(): HandsOnBenchmark().run()
def test_by_word(): HandsOnByWordBenchmark(torch.x).run()
def test_child(): ChildBenchmark().run()
def test_style(): BenchmarkOfAnotherStyle("style", Kit("no name")).run()
""",
    "test_helpers.py": """
NAME = "from_constant"
def _run(op_name, op, suffix=""):
    bench = base.Benchmark(op_name=op_name + suffix, torch_op=op)
    bench.run()
def _deeper(kind):
    _run(f"deep_{kind}", None)
def _circle(name):
    return _circle(name)
def test_plain(): _run("plain_helper", torch.x)
def test_suffix(): _run("helper", torch.x, suffix="_out")
def test_deep(): _deeper("sum")
def test_constant(): _run(NAME, torch.x)
def test_circle(): _circle("nothing")
def test_local():
    op_name = "local" if here else "elsewhere"
    base.Benchmark(op_name, None).run()
""",
    "test_backward.py": """
def test_gelu_backward(): Benchmark(op_name="gelu_backward", is_backward=True).run()
def test_relu_backward(): Benchmark(op_name="relu", is_backward=True).run()
def test_relu_forward(): Benchmark(op_name="relu", is_backward=False).run()
""",
    "test_router.py": "def test_perf_router(): Benchmark('router').run()\n",
    "test_other.py": "def test_perf_other(): Benchmark('router').run()\n",
    "test_divide.py": """
def test_divide(): Benchmark('div_tensor').run()
def test_divide_again(): Benchmark('div_tensor').run()
def test_divide_dispatch(): Benchmark('divide').run()
""",
}
NAMES = {
    "test_mm": ("mm",),
    "test_mm_self_transpose_benchmark": ("mm_self_transpose",),
    "test_blas_benchmark": ("addmm", "mm"),
    "test_rows": ("mv", "outer"),
    "test_index_reduce": ("index_reduce_.amax", "index_reduce_.amin"),
    "test_loop": ("loop_mv", "loop_outer"),
    "test_to_copy": ("to_copy_*_to_float16",),
    "test_default": ("named",),
    "test_second": ("second",),
    "test_hands_on": ("hands_on",),
    "test_by_word": ("by_word_backward",),
    "test_child": ("hands_on",),
    "test_style": ("style",),
    "test_plain": ("plain_helper",),
    "test_suffix": ("helper_out",),
    "test_deep": ("deep_sum",),
    "test_constant": ("from_constant",),
    "test_circle": (),
    "test_local": ("local", "elsewhere"),
    "test_gelu_backward": ("gelu_backward",),
    "test_relu_backward": ("relu_backward",),
    "test_relu_forward": ("relu",),
}


@pytest.fixture
def inventory(tmp_path: Path) -> Inventory:
    (tmp_path / "src" / "flag_gems").mkdir(parents=True)
    (tmp_path / "src" / "flag_gems" / "__init__.py").touch()
    (tmp_path / "benchmark").mkdir()
    for name, text in FILES.items():
        (tmp_path / "benchmark" / name).write_text(text, encoding="utf-8")
    return read_inventory(find_provider(str(tmp_path), cwd=tmp_path))


def nodes(inventory: Inventory, word: str) -> list[str]:
    return [selection.benchmark.function for selection in resolve_operators([word], [inventory])]


@pytest.mark.parametrize("function", NAMES)
def test_a_benchmark_is_called_what_its_source_calls_it(inventory: Inventory, function: str) -> None:
    (benchmark,) = (entry for entry in inventory.benchmarks if entry.function == function)
    assert benchmark.op_names == NAMES[function]


def test_its_one_name_is_the_only_one_or_the_one_that_it_is_called_after(inventory: Inventory) -> None:
    main = {benchmark.function: benchmark.op_name for benchmark in inventory.benchmarks}
    assert (main["test_default"], main["test_local"]) == ("named", "local")
    assert [main[f"test_{name}"] for name in ("blas_benchmark", "to_copy", "circle")] == [None, None, None]


@pytest.mark.parametrize(
    ("word", "function"),
    [
        ("mm", "test_mm"),
        ("mm_self_transpose", "test_mm_self_transpose_benchmark"),
        ("addmm", "test_blas_benchmark"),
        ("outer", "test_rows"),
        ("index_reduce_.amin", "test_index_reduce"),
        ("index_reduce_", "test_index_reduce"),
        ("to_copy_float32_to_float16", "test_to_copy"),
        ("to_copy", "test_to_copy"),
        ("by_word_backward", "test_by_word"),
        ("second", "test_second"),
        ("relu", "test_relu_forward"),
        ("router", "test_perf_router"),
        ("router@other", "test_perf_other"),
        ("divide", "test_divide_dispatch"),
        ("divide@divide", "test_divide"),
    ],
)
def test_each_way_of_naming_finds_its_benchmark(inventory: Inventory, word: str, function: str) -> None:
    assert nodes(inventory, word) == [function]


@pytest.mark.parametrize("word", ["hands_on", "mv_", "nothing", "to_copy_float32_to_float64"])
def test_what_two_or_none_are_called_is_refused(inventory: Inventory, word: str) -> None:
    if word == "hands_on":  # a function of that name comes before a class that hands the name on
        assert nodes(inventory, word) == ["test_hands_on"]
        return
    with pytest.raises(UsageError):
        nodes(inventory, word)


def test_a_shape_file_may_use_each_name_that_is_whole(inventory: Inventory) -> None:
    keys = inventory.shape_keys()
    assert {"addmm", "mm", "loop_outer", "helper_out", "ChildBenchmark", "BenchmarkOfAnotherStyle"} <= keys
    assert not [key for key in keys if "*" in key]


def test_the_cache_keeps_every_name_and_sees_a_file_put_in_place_of_another(
    inventory: Inventory, tmp_path: Path
) -> None:
    cache = tmp_path / "inventory.json"
    assert read_inventory(inventory.provider, cache=cache) == inventory
    assert read_inventory(inventory.provider, cache=cache) == inventory
    path = tmp_path / "benchmark" / "test_router.py"
    before = path.stat()
    path.write_text(path.read_text().replace("'router'", "'rooter'"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns - 10**9))
    changed = read_inventory(inventory.provider, cache=cache)
    assert "rooter" in {benchmark.op_name for benchmark in changed.benchmarks}


def test_the_cache_belongs_to_a_commit(inventory: Inventory, tmp_path: Path) -> None:
    cache = tmp_path / "inventory.json"
    read_inventory(inventory.provider, cache=cache)
    before = cache.read_text()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("a1" * 20)
    read_inventory(inventory.provider, cache=cache)
    assert cache.read_text() != before


words = st.text(alphabet="ab_", min_size=1, max_size=4).filter(lambda word: word.strip("_") != "")
entries = st.builds(
    lambda ops, marks, short, stem, line: Benchmark(
        op_name=ops[0] if len(ops) == 1 else None, op_names=tuple(ops), markers=tuple(marks),
        function=f"test_{short}", file=f"test_{stem}.py", line=line,
    ),
    st.lists(words, max_size=2, unique=True), st.lists(words, max_size=2, unique=True), words, words, st.integers(1, 9),
)  # fmt: skip


@given(st.lists(entries, min_size=1, max_size=6, unique_by=lambda entry: entry.node))
def test_every_listed_name_finds_its_own_benchmark(benchmarks: list[Benchmark]) -> None:
    provider = Provider(name="flag_gems", root=Path("/suite"), package="flag_gems")
    found = Inventory(provider=provider, benchmarks=tuple(benchmarks))
    names = found.names()
    assert len(set(names.values())) == len(benchmarks)
    for benchmark, name in names.items():
        (selection,) = resolve_operators([name], [found])
        assert selection.benchmark == benchmark
        (selection,) = resolve_operators([benchmark.node], [found])
        assert selection.benchmark == benchmark


@given(
    st.lists(entries, min_size=1, max_size=6, unique_by=lambda entry: entry.node),
    st.text(alphabet=string.ascii_lowercase[:3] + "_:@*[.", max_size=12),
)
def test_a_word_finds_what_it_names_or_is_refused(benchmarks: list[Benchmark], word: str) -> None:
    provider = Provider(name="flag_gems", root=Path("/suite"), package="flag_gems")
    found = Inventory(provider=provider, benchmarks=tuple(benchmarks))
    try:
        selections = resolve_operators([word], [found])
    except UsageError:
        return
    for selection in selections:
        assert selection.benchmark in benchmarks
    assert Counter(selection.node_id for selection in selections).most_common(1)[0][1] == 1
