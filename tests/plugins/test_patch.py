"""What a plugin replaces is recorded, can be seen to be in force, and can be put back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from zlbench_plugins._patch import PatchSet, subclasses


class Base:
    def run(self) -> str:
        return "base"

    @staticmethod
    def helper() -> str:
        return "helper"


class Child(Base):
    pass


@pytest.fixture
def patches() -> Any:
    patches = PatchSet()
    yield patches
    patches.undo()


def test_a_patch_is_recorded_and_undone(patches: PatchSet) -> None:
    before = vars(Base)["run"]
    assert patches.set(Base, "run", lambda self: "ours") is before
    assert (Base().run(), Child().run(), patches.labels(), patches.not_in_force()) == ("ours", "ours", ["Base.run"], [])
    patches.undo()
    assert vars(Base)["run"] is before
    assert patches.labels() == []


def test_an_inherited_attribute_is_inherited_again(patches: PatchSet) -> None:
    assert patches.set(Child, "run", lambda self: "ours") is None
    patches.undo()
    assert "run" not in vars(Child)
    assert Child().run() == "base"


def test_a_static_method_comes_back_as_one(patches: PatchSet) -> None:
    patches.set(Base, "helper", staticmethod(lambda: "ours"))
    assert patches.not_in_force() == []
    assert Base().helper() == "ours"
    patches.undo()
    assert Base().helper() == "helper"


def test_an_attribute_that_was_not_there_goes_again(patches: PatchSet) -> None:
    module = SimpleNamespace(__name__="knobs")
    assert patches.set(module, "new", 1) is None
    assert patches.labels() == ["knobs.new"]
    patches.undo()
    assert not hasattr(module, "new")


def test_the_last_replaced_is_put_back_first(patches: PatchSet) -> None:
    thing = SimpleNamespace(a="old")
    patches.set(thing, "a", "first")
    assert patches.set(thing, "a", "second") == "first"
    # Our own second patch does not make the first one lost.
    assert patches.not_in_force() == []
    patches.undo()
    assert thing.a == "old"


def test_whoever_replaced_it_after_us_is_named(patches: PatchSet) -> None:
    thing = SimpleNamespace(a=1, b=2)
    patches.set(thing, "a", 3)
    patches.set(thing, "b", 4)
    thing.a = 5
    assert patches.not_in_force() == ["SimpleNamespace.a"]
    del thing.a
    assert patches.not_in_force() == ["SimpleNamespace.a"]
    thing.a = 3
    assert patches.not_in_force() == []


def test_classes_below_one_hold_what_they_are_mixed_from() -> None:
    class Base: ...

    class Mixin: ...

    class Child(Mixin, Base): ...

    class Grandchild(Child): ...

    assert set(subclasses(Base)) == {Child, Mixin, Grandchild}
    assert subclasses(Grandchild) == []
