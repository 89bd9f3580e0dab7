"""Records what autotuners choose on a card, read after each call: which kernel, for which key, which config and why.

A line is on the disk before the kernel's result is used, so that the choices of a process that crashes are known.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from zlbench import tuning
from zlbench_plugins import tuner_access, tuner_database, tuning_meta
from zlbench_plugins.context import CellContext, JsonLines, current
from zlbench_plugins.tuner_access import CacheView, TunedCall, TunerHooks, TunerKind
from zlbench_plugins.tuner_values import canonical, encode_config, encode_key, has_hook, in_short


class RecordView(CacheView):
    """The tuner's own cache, with a note of what this process put there."""

    def __init__(self, tuner: Any) -> None:
        super().__init__(tuner)
        self._own: dict[Any, Any] = {}
        self.noted: set[tuple[Any, str]] = set()
        """Keys and rows that have their line: a call in a timed loop must not cost more than a look."""

    def give(self, key: Any) -> Any:
        """The cache's config; ours where a busy database did not take it."""
        try:
            return super().give(key)
        except KeyError:
            if (self.table, key) not in self._own:
                raise
            return self._own[self.table, key]

    def keep(self, key: Any, config: Any) -> None:
        """Store what the tuner chose, as it was when it chose it."""
        self._own[self.table, key] = config
        super().keep(key, config)

    @property
    def inherited(self) -> bool:
        """Whether the key's config was in the cache before this process asked for it."""
        return self.found and (self.table, self.key) not in self._own


class Recorder:
    """Writes `autotune_records/` of one cell."""

    def __init__(self, context: CellContext) -> None:
        self._context = context
        self._records = JsonLines(context.out_dir / tuning.RECORDS)
        self._writers = tuning.Writers(tuning.tuner_cache(os.environ))
        self._device = False

    def around(self, call: TunedCall, run: Callable[[], Any]) -> Any:
        """Run the tuner and note what it launched, also where the launch failed."""
        try:
            result = run()
        except Exception:
            if call.view.taken is not None:
                self._note(call)
            raise
        self._note(call)
        return result

    def _note(self, call: TunedCall) -> None:
        view = call.view
        assert isinstance(view, RecordView)
        if (view.key, self._context.row) in view.noted:
            return
        view.noted.add((view.key, self._context.row))
        key = None if view.key is None else encode_key(view.key)
        text = canonical(key)
        chosen = call.chosen
        config = encode_config(chosen)
        if key is not None:  # with a single config nothing is chosen, and a replay does not hear of it
            self._context.tuned[f"{call.kernel} {text}"] = in_short(config)
        record = {
            "tuner": call.kind.value, "kernel": call.kernel, "module": call.module, "key": key, "config": config,
            "pre_hook": has_hook(chosen), **sweep_of(call), **self._origin(call, view), **_libtuner(call),
            "row": self._context.row,
        }  # fmt: skip
        self._records.append(record)
        self._write_device()
        if record["all_failed"]:
            self._context.tell("TUNE_ALL_FAILED", f"kernel={call.kernel} key={text} configs={record['configs']}")

    def _origin(self, call: TunedCall, view: RecordView) -> dict[str, Any]:
        """Whether the choice was made here, and who made it where it was not."""
        if view.key is None:
            return {"source": tuning.Source.SINGLE.value}
        libtuner = call.kind is TunerKind.LIBTUNER
        if view.stored:
            stored_times = bool(call.timings) and not call.timed
            source = tuning.Source.STORED_TIMES if stored_times else tuning.Source.SWEEP
            if not call.timings:
                source = tuning.Source.PRUNED
        elif view.inherited:
            source = tuning.Source.DATABASE if libtuner else tuning.Source.MEMORY
        else:
            source = tuning.Source.MEMORY
        if not libtuner:
            return {"source": source.value}
        key = encode_key(view.key)
        if view.stored:
            writer = self._writers.of_times(view.table) if source is tuning.Source.STORED_TIMES else ""
            self._writers.wrote(view.table, key)
        else:
            writer = self._writers.of(view.table, key) if source is tuning.Source.DATABASE else ""
        return {"source": source.value, **({"writer": writer} if writer else {})}

    def _write_device(self) -> None:
        """Say which card it is, once something ran on it: asking earlier would open it."""
        if not self._device:
            self._device = True
            tuning_meta.write(self._context, "record", device=tuning_meta.device_name(self._context))

    def finish(self) -> None:
        """Count the winners that the cache holds now."""
        tuning_meta.write(self._context, "record", entries_after=tuning_meta.entries())


def sweep_of(call: TunedCall) -> dict[str, Any]:
    """What the sweep of this call saw; all zero where there was none."""
    timings = call.timings
    times = [time for time in timings.values() if not tuner_access.failed(time)]
    best = min(times, default=None)
    return {
        "configs": len(getattr(call.tuner, "configs", ())),
        "swept": call.timed,
        "timings": {str(config): None if tuner_access.failed(time) else time for config, time in timings.items()},
        "ties": sum(time == best for time in times) - 1 if times else 0,
        "all_failed": bool(timings) and not times,
    }


def _libtuner(call: TunedCall) -> dict[str, Any]:
    if call.kind is not TunerKind.LIBTUNER:
        return {}
    tuner = call.tuner
    mode = getattr(tuner, "_flagtune_mode", None)
    return {
        "table": call.view.table,
        "flagtune_mode": str(getattr(mode, "value", mode)) if mode is not None else None,
        "protocol": [str(part) for part in getattr(tuner, "_benchmark_protocol", ())],
    }


_recorder: Recorder | None = None
_hooks: TunerHooks | None = None


def install(context: CellContext) -> TunerHooks:
    """Record from now on in this process."""
    global _recorder, _hooks  # noqa: PLW0603 - pytest calls this module's functions, there is no object to keep them in
    _recorder = Recorder(context)
    _hooks = TunerHooks(context, RecordView, _recorder.around)
    _hooks.install()
    return _hooks


def pytest_configure() -> None:
    """Install for the cell of this process."""
    context = current()
    tuning_meta.write(context, "record", entries_before=None if context.spec.continued else tuning_meta.entries())
    install(context)


def pytest_collection_modifyitems() -> None:
    """A suite's own tuner is imported with its benchmarks."""
    if _hooks is not None:
        _hooks.install()
        tuner_database.wait_for_database(current())
        tuner_database.ask_in_every_row(current())


def pytest_runtest_setup() -> None:
    """Or with the first benchmark that runs."""
    pytest_collection_modifyitems()


def pytest_sessionfinish() -> None:
    """Complete the meta file."""
    if _recorder is not None:
        _recorder.finish()
