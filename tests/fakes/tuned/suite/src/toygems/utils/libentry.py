"""A tuner that caches as FlagGems' LibTuner does: winners and times in a database that outlives the process.

A stored winner is never replaced, nothing can be removed, and what comes back has lost its pre_hook. Where another
process holds the database, it says so at once.
"""

import json
import os
import sqlite3
from pathlib import Path

import triton
from triton.runtime.autotuner import Autotuner, Config

MAJOR, MINOR = triton.__version__.split(".")[:2]


class Model:
    """The database; the name of its file tells neither card nor compiler, but for two numbers of its version."""

    def __init__(self):
        folder = Path(os.environ["FLAGGEMS_CACHE_DIR"], "config_cache")
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"TunedConfig_toy_triton_{MAJOR}_{MINOR}.db"

    def get_config(self, table, key):
        found = self._get(table, json.dumps(key))
        return None if found is None else Config(found.pop("kwargs"), **found)

    def put_config(self, table, key, config):
        fields = {name: value for name, value in vars(config).items() if name != "pre_hook"}
        self._put(table, json.dumps(key), fields)

    def get_benchmark(self, table, key, config):
        return self._get(table, json.dumps([key, str(config)]))

    def put_benchmark(self, table, key, config, times):
        self._put(table, json.dumps([key, str(config)]), times)

    def _get(self, table, key):
        connection = sqlite3.connect(self.path, timeout=0)
        try:
            connection.execute(f'CREATE TABLE IF NOT EXISTS "{table}" (key TEXT PRIMARY KEY, value TEXT)')
            row = connection.execute(f'SELECT value FROM "{table}" WHERE key = ?', (key,)).fetchone()
        finally:
            connection.close()
        return None if row is None else json.loads(row[0])

    def _put(self, table, key, value):
        connection = sqlite3.connect(self.path, timeout=0)
        try:
            connection.execute(f'CREATE TABLE IF NOT EXISTS "{table}" (key TEXT PRIMARY KEY, value TEXT)')
            connection.execute(f'INSERT OR IGNORE INTO "{table}" VALUES (?, ?)', (key, json.dumps(value)))
            connection.commit()
        finally:
            connection.close()


class ConfigCache:
    def __init__(self, table_name, model):
        self.table_name, self.model = table_name, model

    def get(self, key):
        return self.model.get_config(self.table_name, key)

    def set(self, key, config):
        self.model.put_config(self.table_name, key, config)

    def __contains__(self, key):
        return self.get(key) is not None

    def __getitem__(self, key):
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __setitem__(self, key, config):
        self.set(key, config)


class BenchmarkCache:
    def __init__(self, table_name, model, key):
        self.table_name, self.model, self.key = table_name, model, key

    def get(self, config):
        return self.model.get_benchmark(self.table_name, self.key, config)

    def set(self, config, times):
        self.model.put_benchmark(self.table_name, self.key, config, times)


class LibCache:
    def __init__(self):
        self.model = Model()


libcache = LibCache()


class LibTuner(Autotuner):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__name__ = self.base_fn.__name__
        self.cache = ConfigCache(self.__name__, libcache.model)

    def get_key(self, args):
        dtypes = tuple(str(value.dtype) for value in args.values() if hasattr(value, "dtype"))
        return tuple(args[name] for name in self.keys) + dtypes

    def run(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        if len(self.configs) > 1:
            key = self.get_key({k: v for k, v in {**self.nargs, **kwargs}.items() if k in self.arg_names})
            if key not in self.cache:
                times = BenchmarkCache(f"{self.__name__}_benchmark_v2", libcache.model, key)
                timings = {}
                for config in self.prune_configs(kwargs):
                    found = times.get(config)
                    if found is None:
                        found = self._bench(*args, config=config, **kwargs)
                        times.set(config, found)
                    timings[config] = list(found)
                self.cache[key] = min(timings, key=timings.get)
                self.configs_timings = timings
            config = self.cache[key]
            if config.pre_hook is None:
                config = next((own for own in self.configs if own.all_kwargs() == config.all_kwargs()), config)
        else:
            config = self.configs[0]
        self.best_config = config
        if config.pre_hook is not None:
            config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
        result = self.fn.run(*args, **kwargs, **config.all_kwargs())
        self.nargs = None
        return result


class LibEntry:
    """Keeps what was launched, with its config, and launches it again by itself; numbers count by their type alone."""

    def __init__(self, fn):
        self.fn = fn
        self.kernel_cache = ({},)
        self._cpu_cache = {}

    def run(self, n, dtype):
        cache, key = self.kernel_cache[0], (type(n), dtype)
        if key in cache:
            self.fn.fn.run(n, dtype, **cache[key])
            return
        self.fn.run(n, dtype)
        cache[key] = self.fn.best_config.all_kwargs()
