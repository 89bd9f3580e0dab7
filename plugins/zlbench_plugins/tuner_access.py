"""The one place that knows the insides of Triton's Autotuner and of FlagGems' LibTuner, which overrides its `run`.

Both ask `self.cache` for the key of a call and launch what it holds. A stand-in for that cache, for the duration of
the call, is asked for the key as the tuner itself made it, whatever the version, and decides what the tuner finds.
It also works where the cache is a database whose rows cannot be changed any more.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from zlbench_plugins._patch import subclasses
from zlbench_plugins.context import CellContext
from zlbench_plugins.tuner_database import is_libentry


class TunerKind(str, Enum):
    """Whose tuner it is."""

    TRITON = "triton"
    LIBTUNER = "libtuner"


class CacheView:
    """Stands in for a tuner's cache during one call and sees what is asked of it."""

    def __init__(self, _tuner: Any) -> None:
        self.base: Any = None
        self.key: Any = None
        """The key that the tuner asked for; None where it had nothing to choose."""
        self.found = False
        """Whether the tuner was told that its cache holds the key."""
        self.stored = False
        """Whether the tuner stored a choice."""
        self.taken: Any = None
        """The config that the tuner took out last."""

    def start(self, base: Any) -> None:
        """Forget the call before."""
        self.base, self.key, self.taken = base, None, None
        self.found = self.stored = False

    @property
    def table(self) -> str:
        """Table of a database behind the cache, "" for one in memory."""
        return str(getattr(self.base, "table_name", ""))

    def holds(self, key: Any) -> bool:
        """Whether the tuner shall find the key."""
        return key in self.base

    def give(self, key: Any) -> Any:
        """What the tuner shall find."""
        return self.base[key]

    def keep(self, key: Any, config: Any) -> None:
        """Store what the tuner chose."""
        self.base[key] = config

    def __contains__(self, key: Any) -> bool:
        self.key = key
        self.found = self.holds(key)
        return self.found

    def __getitem__(self, key: Any) -> Any:
        self.key = key
        self.taken = self.give(key)
        return self.taken

    def __setitem__(self, key: Any, config: Any) -> None:
        self.key, self.stored = key, True
        self.keep(key, config)

    def get(self, key: Any, default: Any = None) -> Any:
        """As of a dict."""
        return self[key] if key in self else default  # noqa: SIM401 - this is that very method

    def __getattr__(self, name: str) -> Any:
        return getattr(self.base, name)


class PrivateView(CacheView):
    """Hides the tuner's cache: what was chosen elsewhere is not found, what is chosen here is not left behind."""

    def __init__(self, tuner: Any) -> None:
        super().__init__(tuner)
        self._own: dict[Any, Any] = {}

    def holds(self, key: Any) -> bool:
        """Only what this process chose."""
        return (self.table, key) in self._own

    def give(self, key: Any) -> Any:
        """What this process chose."""
        return self._own[self.table, key]

    def keep(self, key: Any, config: Any) -> None:
        """Keep it here."""
        self._own[self.table, key] = config


class NewKeyError(BaseException):
    """Raised before a tuner does anything, and caught around it: no `except Exception` of its own may keep it."""


class QuickCache(dict[Any, Any]):
    """The keys of one tuner that were dealt with for the row in progress, with their configs.

    Calls in a timed loop go through here: they must cost next to nothing, and the same whether the plugin around them
    records or replays. Any other key, and a cache that says otherwise by now, is left to the view.
    """

    def __init__(self, row: str, view: CacheView) -> None:
        super().__init__()
        self.row, self.base, self.table = row, view.base, view.table

    def __contains__(self, key: object) -> bool:
        config = dict.get(self, key)
        if config is None or (not self.table and self.base.get(key) is not config):
            raise NewKeyError
        return True

    def get(self, key: Any, default: Any = None) -> Any:
        """As of a dict; what is not here is for the view to say."""
        return dict.__getitem__(self, key) if key in self else default


class TunedCall:
    """One call of a tuner: before it runs, and after."""

    def __init__(self, tuner: Any, view: CacheView) -> None:
        self.tuner, self.view = tuner, view
        self.timed = 0
        """Configs that were timed in this call; those whose times came out of a database are not counted."""
        self.launched = False
        """Whether the tuner came to its end."""
        self._timings_before = vars(tuner).get("configs_timings")

    @property
    def kernel(self) -> str:
        """Name of the kernel's function."""
        return str(getattr(self._function, "__name__", "?"))

    @property
    def module(self) -> str:
        """Module of the kernel's function."""
        return str(getattr(self._function, "__module__", "?"))

    @property
    def _function(self) -> Any:
        return getattr(self.tuner, "base_fn", None)

    @property
    def kind(self) -> TunerKind:
        """Whose tuner it is."""
        return kind_of(type(self.tuner))

    @property
    def chosen(self) -> Any:
        """The config that was launched, with the hook that LibTuner gave it; where that failed, what it had taken."""
        return getattr(self.tuner, "best_config", self.view.taken) if self.launched else self.view.taken

    @property
    def timings(self) -> Mapping[Any, float]:
        """Milliseconds of each config of the sweep in this call; empty without one."""
        now = vars(self.tuner).get("configs_timings")
        if now is None or now is self._timings_before:
            return {}
        return {config: first_time(times) for config, times in now.items()}


Around = Callable[[TunedCall, Callable[[], Any]], Any]


class TunerHooks:
    """Puts a plugin around every call of every tuner of this process.

    Args:
        new_view: makes the stand-in for the cache of a tuner; one for each tuner, kept as long as that.
        around: is given the call and what runs it, and returns what that returns.
        unseen: told of a config that is timed outside any call that was seen.
    """

    def __init__(
        self, context: CellContext, new_view: Callable[[Any], CacheView], around: Around,
        unseen: Callable[[Any], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self._context = context
        self._new_view, self._around, self._unseen = new_view, around, unseen
        self._views: weakref.WeakKeyDictionary[Any, CacheView] = weakref.WeakKeyDictionary()
        self._calls: list[TunedCall] = []
        self._wrapped: set[type[Any]] = set()
        self._quick = f"_zlbench_quick_{id(self):x}"
        """Attribute of a tuner that holds its QuickCache: nothing else is looked up as fast."""

    def install(self) -> bool:
        """Wrap what is not wrapped yet; a suite's own tuner may be imported late, so this is done more than once."""
        base = autotuner_class()
        self._context.hooks["autotuner"] = base is not None
        if base is None:
            return False
        if base not in self._wrapped and hasattr(base, "_bench"):
            self._count_timed(base)
        for cls in (base, *subclasses(base)):
            if cls not in self._wrapped and "run" in vars(cls):
                self._wrapped.add(cls)
                self._wrap(cls)
        return True

    def _wrap(self, cls: Any) -> None:
        original = cls.run

        def run(tuner: Any, *args: Any, **kwargs: Any) -> Any:
            quick, base = vars(tuner).get(self._quick), tuner.cache
            if quick is not None and quick.row == self._context.row and quick.base is base:
                tuner.cache = quick
                try:
                    return original(tuner, *args, **kwargs)
                except NewKeyError:
                    pass
                finally:
                    tuner.cache = base
            elif isinstance(base, QuickCache | CacheView):
                return original(tuner, *args, **kwargs)  # a `run` that calls the one it overrides
            return self._call(tuner, lambda: original(tuner, *args, **kwargs))

        self._context.patches.set(cls, "run", run)

    def _call(self, tuner: Any, run: Callable[[], Any]) -> Any:
        view = self._views.get(tuner)
        if view is None:
            view = self._views[tuner] = self._new_view(tuner)
        view.start(tuner.cache)
        call = TunedCall(tuner, view)

        def launch() -> Any:
            result = run()
            call.launched = True
            return result

        tuner.cache = view
        self._calls.append(call)
        try:
            result = self._around(call, launch)
        finally:
            self._calls.pop()
            if tuner.cache is view:
                tuner.cache = view.base
        self._settle(tuner, view)
        return result

    def _settle(self, tuner: Any, view: CacheView) -> None:
        """Let the next calls with this key, or of this tuner of one config, be quick until the row ends."""
        quick = vars(tuner).get(self._quick)
        if quick is None or quick.row != self._context.row or quick.base is not view.base:
            quick = vars(tuner)[self._quick] = QuickCache(self._context.row, view)
        if view.key is not None and view.taken is not None:
            quick[view.key] = view.taken

    def _count_timed(self, base: Any) -> None:
        original = base._bench

        def bench(tuner: Any, *args: Any, **kwargs: Any) -> Any:
            if self._calls:
                self._calls[-1].timed += 1
            else:
                self._unseen(tuner)
            return original(tuner, *args, **kwargs)

        self._context.patches.set(base, "_bench", bench)


def autotuner_class() -> Any:
    """Triton's Autotuner; None where this Triton has none."""
    try:
        from triton.runtime.autotuner import Autotuner
    except ImportError:
        return None
    return Autotuner


def config_class() -> Any:
    """Triton's Config."""
    from triton.runtime.autotuner import Config

    return Config


def kind_of(cls: type[Any]) -> TunerKind:
    """Whose tuner a class is: FlagGems' keeps its winners in a table of a database, which has a name."""
    ours = any(base.__name__ == "LibTuner" and is_libentry(base.__module__) for base in cls.__mro__)
    return TunerKind.LIBTUNER if ours else TunerKind.TRITON


def first_time(times: Any) -> float:
    """The median of what a sweep says of a config."""
    return float(times[0]) if isinstance(times, list | tuple) else float(times)


def failed(milliseconds: float) -> bool:
    """Whether that is no time, but how tuners say that a config did not run."""
    return not math.isfinite(milliseconds)
