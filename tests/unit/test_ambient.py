"""What the caller's environment may do to a measured process."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.measure.ambient import DROPPED, ambient, blocking, without_dropped

NAMES = st.one_of(
    st.sampled_from(sorted(DROPPED)),
    st.sampled_from(
        ["TRITON_PTXAS_PATH", "DISABLE_LLVM_OPT", "PTXAS_OPTIONS", "HOME", "FLAGTREE_AABS", "FLAGGEMS_DIR"]
    ),
)
ENVIRONMENTS = st.dictionaries(NAMES, st.text(alphabet="a1/=", max_size=4))


def test_another_target_by_the_environment_never_reaches_a_side() -> None:
    env = {"TRITON_OVERRIDE_ARCH": "sm80", "TRITON_STORE_BINARY_ONLY": "1", "PATH": "/bin"}
    assert without_dropped(env) == {"PATH": "/bin"}
    assert ambient(env, ()) == ()


def test_what_reaches_both_sides_is_written_down() -> None:
    env = {"TRITON_PTXAS_PATH": "/opt/ptxas", "PTXAS_OPTIONS": "-v", "HOME": "/root", "FLAGGEMS_DIR": "/x"}
    assert ambient(env, ()) == ("PTXAS_OPTIONS=-v", "TRITON_PTXAS_PATH=/opt/ptxas")


def test_a_declared_switch_is_the_axis_and_not_the_surroundings() -> None:
    assert ambient({"DISABLE_LLVM_OPT": "1", "DISABLE_MMA_V3": "1"}, ["DISABLE_MMA_V3"]) == ("DISABLE_LLVM_OPT=1",)


@given(ENVIRONMENTS)
def test_whatever_is_kept_and_looks_like_a_compilers_variable_is_listed_once(env: dict[str, str]) -> None:
    listed = ambient(env, ())
    assert list(listed) == sorted(set(listed))
    names = {item.split("=", 1)[0] for item in listed}
    assert not names & DROPPED
    assert all(item == f"{name}={env[name]}" for item in listed for name in [item.split("=", 1)[0]])
    assert {name for name in env if name.startswith(("TRITON_", "DISABLE_", "PTXAS_"))} - DROPPED <= names


@pytest.mark.parametrize(
    "name",
    """FLA_TRIL_PRECISION GDN_RECOMPUTE_SUPPRESS_LEVEL FLAG_GEMS_X GEMS_ARM_POW_TRITON
    TRITONXPU_FP16_FAST CUDA_MODULE_LOADING CUDA_DEVICE_MAX_CONNECTIONS CUDA_INJECTION64_PATH
    NVIDIA_TF32_OVERRIDE TORCH_ALLOW_TF32_CUBLAS_OVERRIDE TORCHINDUCTOR_MAX_AUTOTUNE
    PYTORCH_CUDA_ALLOC_CONF CUBLAS_WORKSPACE_CONFIG CUDNN_BENCHMARK OMP_WAIT_POLICY MKL_NUM_THREADS
    HIP_FORCE_DEV_KERNARG ROCM_X MUSA_X ASCEND_X ARCH PRECISION_MODE KLX_USE_AUTOTUNE
    """.split(),  # noqa: SIM905 - a name a line is a screen
)
def test_variables_of_libraries_and_of_the_run_time_are_conditions(name: str) -> None:
    assert ambient({name: "7"}, ()) == (f"{name}=7",)


@pytest.mark.parametrize(
    "name",
    """CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES ASCEND_RT_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES CUDA_HOME CUDA_PATH
    TORCH_HOME ROCM_PATH CUDA_VERSION PYTORCH_VERSION NVIDIA_REQUIRE_CUDA TORCH_LOGS CUDA_DEVICE_ORDER GEMS_VENDOR
    FLAGGEMS_VENDOR ARCHFLAGS HOME""".split(),  # noqa: SIM905 - as above
)
def test_what_differs_between_shells_and_changes_no_kernel_is_none(name: str) -> None:
    assert ambient({name: "7"}, ()) == ()


def test_what_is_set_to_our_own_default_is_no_other_condition() -> None:
    assert ambient({"OMP_NUM_THREADS": "1", "FLAGTREE_AABS": "0"}, ()) == ()
    assert ambient({"OMP_NUM_THREADS": "4", "FLAGTREE_AABS": "1"}, ()) == ("FLAGTREE_AABS=1", "OMP_NUM_THREADS=4")


def test_a_wait_after_every_launch_never_reaches_a_side() -> None:
    env = {"CUDA_LAUNCH_BLOCKING": "1", "HIP_LAUNCH_BLOCKING": "0", "PATH": "/bin"}
    assert (without_dropped(env), ambient(env, ())) == ({"PATH": "/bin"}, ())
    assert blocking(env) == ("CUDA_LAUNCH_BLOCKING",)
