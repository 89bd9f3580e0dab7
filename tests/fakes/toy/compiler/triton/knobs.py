"""The two corners of Triton's knobs in which callers put their hooks."""


class HookChain:
    def __init__(self):
        self.calls = []

    def add(self, func):
        if func not in self.calls:
            self.calls.append(func)

    def remove(self, func):
        if func in self.calls:
            self.calls.remove(func)

    def __call__(self, *args, **kwargs):
        for call in self.calls:
            call(*args, **kwargs)


class compilation:
    listener = None


class runtime:
    kernel_load_end_hook = HookChain()
    launch_enter_hook = HookChain()
