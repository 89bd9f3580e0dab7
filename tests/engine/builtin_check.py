"""pytest plugin (-p builtin_check): the suite's benchmarks compare values instead of measuring time.

Every row then tests the wrapper, the reference and the inputs that a measurement would use. Loaded inside the
child process that runs ops/builtin/benchmark; needs torch and triton. Works on a GPU as well.
"""

from __future__ import annotations

import os

import torch

TOLERANCE = {torch.float32: 2e-5, torch.complex64: 2e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
# Where order decides, order is tested: NaN, infinities, both zeros, a tie.
ODD_VALUES = (float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.5, 1.5, float("nan"))


def _exact_reference_input(item):
    """Half precision references in fp32: the reference must not be the less precise of the two."""
    if isinstance(item, torch.Tensor) and item.dtype in (torch.float16, torch.bfloat16):
        return item.float()
    return item


def _close(got, want, tolerance=None):
    want = want.to(got.dtype)
    tolerance = tolerance or TOLERANCE[got.dtype]
    finite = want[torch.isfinite(want)].abs()
    scale = float(finite.max()) if finite.numel() else 1.0
    torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance * scale, equal_nan=True)


def _check_topk(got, want, x, k):
    values, indices = got
    torch.testing.assert_close(values, want[0].to(values.dtype), rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(x.gather(-1, indices), values, rtol=0, atol=0, equal_nan=True)
    assert all(len(set(row.tolist())) == k for row in indices), "an index occurs twice"


def _check_sort(got, want, *_):
    torch.testing.assert_close(got[0], want[0].to(got[0].dtype), rtol=0, atol=0, equal_nan=True)
    assert torch.equal(got[1], want[1]), "not stable"


def _check_dropout(got, want, x, p):
    from zlbench_builtin.pointwise import dropout

    y, kept = got
    scaled = (x.float() / (1 - p)).to(x.dtype)
    torch.testing.assert_close(y, torch.where(kept, scaled, torch.zeros_like(scaled)), rtol=TOLERANCE[x.dtype], atol=0)
    n = x.numel()
    six_sigma = 6 * (p * (1 - p) / n) ** 0.5
    assert abs(float(kept.float().mean()) - (1 - p)) <= six_sigma, "keeps the wrong share"
    assert torch.equal(kept, dropout(x, p)[1]), "not a function of the seed"
    assert torch.equal(kept, dropout(x, p, seed=torch.initial_seed())[1])
    if n >= 64:
        assert not torch.equal(kept, dropout(x, p, seed=torch.initial_seed() + 1)[1]), "seed is not read"
        assert not torch.equal(kept, dropout(x, p, offset=n)[1]), "offset is not read"


def _check_equal(got, want, *_):
    assert torch.equal(got, want)


def _check_close(got, want, *_args, **_kwargs):
    _close(got, want)


def _check_dot(got, want, *_args, **_kwargs):
    # On a device Triton's fp32 dots are tf32 unless told otherwise: ten bits of mantissa.
    _close(got, want, 2e-3 if got.is_cuda and got.dtype == torch.float32 else None)


CHECKS = {
    "topk": _check_topk,
    "sort": _check_sort,
    "dropout": _check_dropout,
    "argmax": _check_equal,
    "mm": _check_dot,
    "bmm": _check_dot,
    "conv2d": _check_dot,
}


def _mend_interpreter():
    """Two faults of Triton's interpreter that would hide ours.

    Loop bounds: 3.6.0 calls int() on arrays of one element, which numpy 2.4 refuses.
    bf16 dots: the interpreter keeps bf16 as its bits in uint16 and, up to 3.9.0, multiplies those.
    """
    import triton.language as tl
    from triton.runtime import interpreter

    patch_tensor = interpreter._patch_lang_tensor
    dot = interpreter.InterpreterBuilder.create_dot

    def patched_tensor(tensor, scope):
        patch_tensor(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    def single(handle):
        if handle.dtype.scalar != tl.bfloat16:
            return handle
        return interpreter.TensorHandle((handle.data.astype("uint32") << 16).view("float32"), tl.float32)

    interpreter._patch_lang_tensor = patched_tensor
    interpreter.InterpreterBuilder.create_dot = lambda self, a, b, *rest: dot(self, single(a), single(b), *rest)


def pytest_configure(config):
    _mend_interpreter()
    torch.backends.cudnn.allow_tf32 = False


def pytest_runtest_setup(item):
    torch.manual_seed(20261129)


def pytest_collection_modifyitems(session, config, items):  # not at import: conftest first makes its Config
    from benchmark import base

    reference = {}

    def get_latency(self, op, *args, **kwargs):
        if op is self.torch_op:
            if self.op_name in ("topk", "sort", "argmax") and args[0].shape[-1] >= 2 * len(ODD_VALUES):
                args[0][-1, : len(ODD_VALUES)] = torch.tensor(ODD_VALUES, dtype=args[0].dtype)
            reference["value"] = op(*[_exact_reference_input(item) for item in args], **kwargs)
        elif self.op_name == os.environ.get("BUILTIN_CHECK_FAIL") and 7 in args[0].shape:
            raise RuntimeError("injected: this row must fail\nand nothing else")
        else:
            CHECKS.get(self.op_name, _check_close)(op(*args, **kwargs), reference.pop("value"), *args, **kwargs)
        return 1.0

    base.Benchmark.get_latency = get_latency
