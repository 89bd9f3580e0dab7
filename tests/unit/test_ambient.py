"""What the caller's environment may do to a measured process."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zlbench.measure.ambient import DROPPED, ambient, without_dropped

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
