"""Classes that override what the row loop stands in for: their rows are recorded all the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from test_in_pytest import BASE, PLAIN, Ran, run  # noqa: F401 - a fixture is found by its name

from zlbench.errors import DISK_FULL_EXIT

pytest_plugins = ["pytester"]

OWN = (
    PLAIN.replace("def test_mini", '''class Own(base.Benchmark):
    def get_input_iter(self, dtype):
        for shape in self.shapes:
            yield (base.Tensor(shape, dtype), 1), (base.Tensor((shape[0], 9), dtype), 2)
    def run(self):
        self.init_user_config()
        for dtype in self.to_bench_dtypes:
            results = []
            for one, other in self.get_input_iter(dtype):
                try:
                    baseline = self.get_latency(self.torch_op, *one)
                    latency = self.get_latency(self.gems_op, *other)
                    baseline = __import__("copy").deepcopy(baseline)  # as dataclasses.asdict does
                    results.append(f"{baseline:.6f} {latency:.6f} {baseline / latency:.3f}")
                except Exception as e:
                    import pytest
                    pytest.fail(str(e))
            print("own table", dtype, results)
def torch_op(x, number):
    assert number == 1 and x.shape[1] == 8
def gems_op(x, number):
    assert number == 2 and x.shape[1] == 9
def test_mini''')
    .replace('base.Benchmark("mini", op)', 'bench = Own("mini", torch_op)\n    bench.gems_op = gems_op\n    bench')
)  # fmt: skip


def test_a_loop_of_its_own_gives_rows_with_the_inputs_of_the_operator(run: Callable[..., Ran]) -> None:  # noqa: F811
    ran = run(OWN, backend="cuda", timer="direct", baseline="all")
    assert ran.code == 0
    assert [(row["shape"], row["input"]["args"][0]["shape"], row["input"]["args"][1]) for row in ran.rows] == [
        ([number, 8], [number, 9], 2) for number in (1, 2, 3)
    ]
    assert [(row["latency_ms"], row["baseline_ms"]) for row in ran.rows] == [(n / 100, n / 100) for n in (1, 2, 3)]
    assert [row["shape_index"] for row in ran.rows] == [0, 1, 2]
    assert len({row["row"] for row in ran.rows}) == 3
    assert "own table float16 ['0.010000 0.010000 1.000', '0.020000 0.020000 1.000'" in ran.log
    assert [len(ran.events(kind)) for kind in ("planned", "started", "completed")] == [1, 3, 1]
    assert ran.markers() == {}


def test_one_look_and_shapes_reach_a_loop_of_its_own(run: Callable[..., Ran]) -> None:  # noqa: F811
    ran = run(OWN, shape_mode="inline", shapes=((5, 8), (6, 8)), quick=True)
    assert [(row["shape"], row["origin"], row["status"]) for row in ran.rows] == [([5, 8], "inline", "SUCCESS")]
    assert ran.markers() == {}


@pytest.mark.parametrize("where", ["def gems_op(x, number):\n", "            yield (base.Tensor(shape, dtype), 1), "])
def test_what_fails_in_a_loop_of_its_own_costs_one_row(run: Callable[..., Ran], where: str) -> None:  # noqa: F811
    raising = "raise RuntimeError('out of memory')\n"
    if where.startswith("def"):
        test = OWN.replace(where, f"{where}    if x.shape[0] == 2: {raising}")
    else:
        test = OWN.replace(where, f"            if shape[0] == 2: {raising}{where}")
    ran = run(test)
    assert ran.code == 1
    assert [(row["shape"][0], row["status"]) for row in ran.rows] == [(1, "SUCCESS"), (2, "FAILED"), (3, "SUCCESS")]
    assert "1 row of mini failed" in ran.events("failed")[0]["text"]


def test_a_process_that_must_end_ends_through_a_loop_of_its_own(run: Callable[..., Ran]) -> None:  # noqa: F811
    full = "    import errno\n    raise OSError(errno.ENOSPC, 'full')\n"
    ran = run(OWN.replace("def gems_op(x, number):\n", f"def gems_op(x, number):\n{full}"))
    assert ran.code == DISK_FULL_EXIT
    assert len(ran.events("started")) == 1


def test_a_loop_that_calls_the_base_classes_loop_after_all(run: Callable[..., Ran]) -> None:  # noqa: F811
    own = "class Own(base.Benchmark):\n    def run(self):\n        super().run()\n"
    ran = run(PLAIN.replace("def test_mini", f"{own}def test_mini").replace("base.Benchmark(", "Own("))
    assert [row["status"] for row in ran.rows] == ["SUCCESS"] * 3
    assert ran.code == 0


def test_only_the_class_that_is_measured_is_spoken_of(run: Callable[..., Ran]) -> None:  # noqa: F811
    own = "class Own(base.Benchmark):\n    def run(self):\n        pass\n"
    ran = run(PLAIN.replace("def test_mini", f"{own}def test_mini"))
    assert (len(ran.rows), ran.markers()) == (3, {})


def test_a_loop_that_times_by_itself_is_said(run: Callable[..., Ran]) -> None:  # noqa: F811
    own = "class Own(base.Benchmark):\n    def run(self):\n        pass\n"
    ran = run(PLAIN.replace("def test_mini", f"{own}def test_mini").replace("base.Benchmark(", "Own("))
    assert (ran.rows, ran.markers()["PATCH_NOT_IN_FORCE"][:20]) == ([], "Own.run() measured n")


def test_the_suites_loop_for_several_cards_is_the_row_loop(run: Callable[..., Ran]) -> None:  # noqa: F811
    own = "class ParallelBenchmarkMixin:\n    def run(self):\n        raise SystemError('its own loop')\n"
    own += "class Own(ParallelBenchmarkMixin, base.Benchmark):\n    pass\n"
    ran = run(PLAIN.replace("def test_mini", f"{own}def test_mini").replace("base.Benchmark(", "Own("))
    assert [row["status"] for row in ran.rows] == ["SUCCESS"] * 3


def test_a_latency_of_a_class_of_its_own_is_what_is_called(run: Callable[..., Ran]) -> None:  # noqa: F811
    own = "class Own(base.Benchmark):\n    def get_latency(self, op, *a, **k):\n        return 7.0\n"
    test = PLAIN.replace("def test_mini", f"{own}def test_mini").replace("base.Benchmark(", "Own(")
    assert [row["latency_ms"] for row in run(test, backend="cuda", timer="direct").rows] == [7.0] * 3
    assert "Benchmark" in BASE
