"""Replays the choices that an earlier run recorded; what cannot be replayed is tuned here, and said.

A recorded config goes in front of whatever the tuner's cache holds, for the duration of each call. Where it fails, it
is taken away again and the tuner tunes as if nothing were known: no cache of winners is asked then either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from zlbench import tuning
from zlbench_plugins import tuner_access, tuner_database, tuning_meta
from zlbench_plugins.autotune_record import sweep_of
from zlbench_plugins.context import CellContext, JsonLines, current
from zlbench_plugins.failures import FailureKind, classify, one_line
from zlbench_plugins.tuner_access import CacheView, TunedCall, TunerHooks, TunerKind
from zlbench_plugins.tuner_values import (
    UnknownConfigError,
    canonical,
    encode_config,
    encode_key,
    has_hook,
    in_short,
    resolve,
)

_MARKER = "AUTOTUNE_REPLAY_FALLBACK"


class Reason(str, Enum):
    """Why a choice was made anew. The words are the predecessor's."""

    KEY_MISSING = "key_missing"
    COMPILE_FAILED = "compile_failed"
    CONFIG_UNKNOWN = "config_unknown"
    TUNE_ALL_FAILED = "tune_all_failed"
    SWEPT = "swept"
    """A sweep ran although the choice was known: something asked the tuner to tune regardless."""


class Record:
    """Recorded choices, found by kernel and key."""

    def __init__(self, records: Iterable[Mapping[str, Any]]) -> None:
        self._found: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
        for record in records:
            if record.get("key") is not None:
                self._found[str(record["kernel"]), canonical(record["key"])].append(record)

    def find(self, call: TunedCall, key: str, row: str) -> Mapping[str, Any] | None:
        """The choice for a call. A process that was begun anew may have chosen otherwise for later rows."""
        found = self._found.get((call.kernel, key), [])
        found = [record for record in found if record["module"] == call.module] or found
        return next((record for record in found if record["row"] == row), found[0] if found else None)


class ReplayView(CacheView):
    """Shows the tuner the recorded config of a key, or what this process chose for it, and nothing else."""

    def __init__(self, tuner: Any, choose: Callable[[ReplayView, Any], Any]) -> None:
        super().__init__(tuner)
        self.call: TunedCall | None = None
        """The call in progress."""
        self.row = ""
        self.noted: set[tuple[Any, str]] = set()
        """Keys and rows that have their line: a call in a timed loop must not cost more than a look."""
        self._choose = choose
        """Told the view and the key; the config to show, or None."""
        self._recorded: dict[Any, Any] = {}
        self._anew: dict[Any, Any] = {}

    def holds(self, key: Any) -> bool:
        """Whether there is a config to replay, or one that was tuned here."""
        place = (self.table, key, self.row)
        if (self.table, key) not in self._anew and place not in self._recorded:
            self._recorded[place] = self._choose(self, key)
        config = self._show(key)
        if config is not None and not self.table:
            # There are suites that look into the cache in memory themselves.
            self.base[key] = config
        return config is not None

    def give(self, key: Any) -> Any:
        """The config that `holds` found."""
        return self._show(key)

    def _show(self, key: Any) -> Any:
        return self._anew.get((self.table, key), self._recorded.get((self.table, key, self.row)))

    def keep(self, key: Any, config: Any) -> None:
        """Keep what was tuned here; a database is left as it is."""
        self._anew[self.table, key] = config
        if not self.table:
            self.base[key] = config

    def refuse(self) -> None:
        """Show the recorded config of this key no more."""
        self._recorded[self.table, self.key, self.row] = None
        if not self.table:
            self.base.pop(self.key, None)

    @property
    def anew(self) -> bool:
        """Whether this call launched what was tuned here."""
        return (self.table, self.key) in self._anew


class Replayer:
    """Replays one record in one cell and writes how it went."""

    def __init__(self, context: CellContext, source: Path | None) -> None:
        self._context = context
        records = tuning.read_records(source) if source is not None else []
        self.digest = tuning.digest(records)
        self._record = Record(records)
        self._lines = JsonLines(context.out_dir / tuning.REPLAY)
        self._reasons: dict[tuple[str, str], str] = {}
        """Reason for each kernel and key that was tuned anew."""
        self._unsaid: list[TunedCall] = []
        self._device = False

    def new_view(self, tuner: Any) -> ReplayView:
        """The stand-in for one tuner's cache."""
        return ReplayView(tuner, self._choose)

    def around(self, call: TunedCall, run: Callable[[], Any]) -> Any:
        """Run the tuner on the recorded config; where that fails, once more without."""
        view = call.view
        assert isinstance(view, ReplayView)
        view.call, view.row = call, self._context.row
        ended = False
        try:
            result = self._run(call, view, run)
            ended = True
        finally:
            self._say_all()
            # A row that fails on a choice of its own is told apart from one that fails on the recorded one.
            if view.key is not None and (ended or _place(call) in self._reasons):
                self._note(call, view)
        return result

    def unseen(self, tuner: Any) -> None:
        """Say that a config is timed outside any call of a tuner that we know."""
        self._fall_back(TunedCall(tuner, CacheView(tuner)), Reason.SWEPT, "outside of run()")
        self._say_all()

    def _run(self, call: TunedCall, view: ReplayView, run: Callable[[], Any]) -> Any:
        try:
            return run()
        except Exception as error:
            reason = _why_refused(view, error)
            if reason is None:
                raise
            view.refuse()
            self._fall_back(call, reason, one_line(error))
            key = view.key
            view.start(view.base)
            try:
                return run()
            finally:
                view.key = key if view.key is None else view.key

    def _choose(self, view: ReplayView, key: Any) -> Any:
        """The recorded config for a key, as an object of this process; None, and said so, where there is none."""
        call = view.call
        assert call is not None
        record = self._record.find(call, canonical(encode_key(key)), self._context.row)
        if record is None:
            self._fall_back(call, Reason.KEY_MISSING)
        elif record["all_failed"]:
            self._fall_back(call, Reason.TUNE_ALL_FAILED)
        else:
            spare = getattr(call.tuner, "_flagtune_pre_hook", None)
            try:
                return resolve(
                    record["config"], hook=record["pre_hook"], configs=call.tuner.configs,
                    config_class=tuner_access.config_class(), spare=spare,
                )  # fmt: skip
            except (UnknownConfigError, TypeError) as error:
                self._fall_back(call, Reason.CONFIG_UNKNOWN, one_line(error))
        return None

    def _fall_back(self, call: TunedCall, reason: Reason, detail: str = "") -> None:
        """Remember, once for a kernel and key, that its config is not replayed."""
        place = _place(call)
        if place in self._reasons:
            return
        self._reasons[place] = reason.value
        self._unsaid.append(call)
        self._context.events.append(
            {"event": "replay_fallback", "kernel": call.kernel, "key": place[1], "reason": reason.value,
             "row": self._context.row, "detail": detail}
        )  # fmt: skip

    def _say_all(self) -> None:
        """Print the markers, once it is known what the tuning anew rests on."""
        while self._unsaid:
            call = self._unsaid.pop(0)
            place = _place(call)
            if call.kind is TunerKind.LIBTUNER and call.view.stored and call.timings and not call.timed:
                # Nothing was timed: this LibTuner took times from its database in a way that could not be hidden.
                self._reasons[place] += "_no_evict"
            self._context.tell(_MARKER, f"reason={self._reasons[place]} kernel={call.kernel} key={place[1]}")

    def _note(self, call: TunedCall, view: ReplayView) -> None:
        """Write how the call went, once for each key and row."""
        if (view.key, self._context.row) in view.noted:
            return
        view.noted.add((view.key, self._context.row))
        if call.timed:
            self._fall_back(call, Reason.SWEPT)
            self._say_all()
        reason = self._reasons.get(_place(call), "")
        key, chosen = encode_key(view.key), call.chosen
        config = None if chosen is None else encode_config(chosen)
        if config is not None:
            self._context.tuned[f"{call.kernel} {canonical(key)}"] = in_short(config)
        if reason:
            self._context.tuned_anew[call.kernel] = reason
        self._lines.append(
            {"kernel": call.kernel, "module": call.module, "key": key, "outcome": "miss" if reason else "hit",
             "reason": reason, "config": config, "swept": call.timed, "row": self._context.row,
             **(_as_record(call, chosen) if reason else {})}
        )  # fmt: skip
        if not self._device:
            self._device = True
            tuning_meta.write(self._context, "replay", device=tuning_meta.device_name(self._context))


def _as_record(call: TunedCall, chosen: Any) -> dict[str, Any]:
    """What a record would say of a choice that was made here, so that it can become one."""
    source = tuning.Source.SWEEP if call.timed else tuning.Source.PRUNED if call.view.stored else tuning.Source.MEMORY
    return {"tuner": call.kind.value, "pre_hook": has_hook(chosen), "source": source.value, **sweep_of(call)}


def _place(call: TunedCall) -> tuple[str, str]:
    key = None if call.view.key is None else encode_key(call.view.key)
    return f"{call.module}.{call.kernel}", canonical(key)


def _why_refused(view: ReplayView, error: Exception) -> Reason | None:
    """Why a recorded config did not run; None where it is not the config's fault, or there was none."""
    if view.key is None or view.taken is None or view.stored or view.anew:
        return None
    if classify(error) in (FailureKind.OUT_OF_RESOURCES, FailureKind.COMPILE_ERROR):
        return Reason.COMPILE_FAILED
    return Reason.CONFIG_UNKNOWN if isinstance(error, TypeError | KeyError) else None


_hooks: TunerHooks | None = None


def install(context: CellContext) -> Replayer:
    """Replay from now on in this process."""
    global _hooks  # noqa: PLW0603 - pytest calls this module's functions, there is no object to keep it in
    replayer = Replayer(context, Path(context.spec.replay_from) if context.spec.replay_from else None)
    _hooks = TunerHooks(context, replayer.new_view, replayer.around, replayer.unseen)
    _hooks.install()
    return replayer


def pytest_configure() -> None:
    """Install for the cell of this process."""
    context = current()
    replayer = install(context)
    before = None if context.spec.continued else tuning_meta.entries()
    tuning_meta.write(
        context, "replay", source=context.spec.replay_from, source_digest=replayer.digest, entries_before=before
    )


def pytest_collection_modifyitems() -> None:
    """A suite's own tuner is imported with its benchmarks."""
    if _hooks is not None:
        _hooks.install()
        # What is tuned anew is timed anew: times of a database are another run's, or another compiler's.
        tuner_database.hide_stored_times(current())
        tuner_database.wait_for_database(current())
        tuner_database.ask_in_every_row(current())


def pytest_runtest_setup() -> None:
    """Or with the first benchmark that runs."""
    pytest_collection_modifyitems()


def pytest_sessionfinish() -> None:
    """Complete the meta file: what a replay finds in the suite's cache it leaves as it is."""
    tuning_meta.write(current(), "replay", entries_after=tuning_meta.entries())
