"""Keeps compiled kernels and launches them itself, as FlagGems' LibEntry does; the version is asked in its way."""

import torch
import triton

major_version, minor_version = (int(part) for part in triton.__version__.split(".")[:2])


class LibEntry:
    def __init__(self, function):
        self.function = function
        self.kernel_cache = tuple({} for _ in range(torch.cuda.device_count()))

    def __getitem__(self, grid):
        return lambda *args, **constants: self.run(grid, args, constants)

    def run(self, grid, args, constants):
        cache = self.kernel_cache[torch.cuda.current_device()]
        key = tuple((arg.dtype, arg.data_ptr() % 16 == 0) if hasattr(arg, "dtype") else arg for arg in args)
        key += tuple(constants.items())
        if key not in cache:
            cache[key] = self.function[grid](*args, **constants)
            return
        if major_version == 3 and 3 <= minor_version <= 6:
            cache[key][grid](*args, *constants.values())
        else:
            cache[key][grid](*args)
