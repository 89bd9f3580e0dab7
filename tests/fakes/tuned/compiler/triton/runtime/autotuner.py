"""An autotuner of Triton's shape: a cache by key, a sweep over configs, the winner's launch."""

import builtins
import math


class OutOfResources(Exception):
    """A config that the target has no room for."""


class Config:
    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None):
        self.kwargs = kwargs
        self.num_warps, self.num_stages, self.num_ctas = num_warps, num_stages, num_ctas
        self.maxnreg, self.pre_hook, self.ir_override = maxnreg, pre_hook, ir_override

    def all_kwargs(self):
        names = ("num_warps", "num_ctas", "num_stages", "maxnreg", "ir_override")
        return {**self.kwargs, **{name: value for name in names if (value := getattr(self, name)) is not None}}

    def __str__(self):
        return ", ".join(f"{name}: {value}" for name, value in self.all_kwargs().items())


class Autotuner:
    def __init__(self, fn, arg_names, configs, key, do_bench):
        self.fn, self.base_fn, self.arg_names = fn, fn, arg_names
        self.configs, self.keys, self.do_bench = configs, key, do_bench
        self.cache, self.nargs = {}, None

    def _bench(self, *args, config, **meta):
        try:
            return self.do_bench(lambda: self.fn.run(*args, **meta, **config.all_kwargs()), quantiles=(0.5, 0.2, 0.8))
        except OutOfResources:
            return [math.inf] * 3

    def prune_configs(self, _kwargs):
        return self.configs

    def run(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        if len(self.configs) > 1:
            key = tuple(self.nargs[name] for name in self.keys)
            if key not in self.cache:
                timings = {config: self._bench(*args, config=config, **kwargs) for config in self.prune_configs(kwargs)}
                self.cache[key] = builtins.min(timings, key=timings.get)
                self.configs_timings = timings
            config = self.cache[key]
        else:
            config = self.configs[0]
        self.best_config = config
        result = self.fn.run(*args, **kwargs, **config.all_kwargs())
        self.nargs = None
        return result
