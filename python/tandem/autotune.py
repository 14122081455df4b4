"""Autotuning decorators. The simulator's time says nothing about a GPU's, so on it a tuned kernel takes its first configuration."""


class Config:
    """One choice of constants and launch options."""

    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None):
        self.kwargs, self.num_warps, self.num_stages, self.num_ctas, self.maxnreg = dict(kwargs), num_warps, num_stages, num_ctas, maxnreg
        self.pre_hook = pre_hook

    def all_kwargs(self):
        options = {"num_warps": self.num_warps, "num_stages": self.num_stages, "num_ctas": self.num_ctas}
        if self.maxnreg is not None:
            options["maxnreg"] = self.maxnreg
        return {**self.kwargs, **options}

    def __repr__(self):
        return f"Config({self.all_kwargs()})"


class _Wrapper:
    """A kernel whose launch gets more arguments."""

    def __init__(self, fn):
        self.fn = fn
        self.__name__ = fn.__name__
        self.arg_names = fn.arg_names

    def __getattr__(self, name):
        return getattr(self.fn, name)

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(grid, *args, **kwargs)


class Autotuned(_Wrapper):
    def __init__(self, fn, configs, key):
        super().__init__(fn)
        self.configs, self.key = list(configs) or [Config({})], list(key)
        self.best_config = self.configs[0]

    def run(self, grid, *args, **kwargs):
        config = self.best_config
        if config.pre_hook:
            config.pre_hook({**dict(zip(self.arg_names, args)), **kwargs, **config.all_kwargs()})
        return self.fn.run(grid, *args, **{**config.all_kwargs(), **kwargs})


class Heuristics(_Wrapper):
    def __init__(self, fn, values):
        super().__init__(fn)
        self.values = values

    def run(self, grid, *args, **kwargs):
        known = {**dict(zip(self.arg_names, args)), **kwargs}
        for name, value in self.values.items():
            if name not in known:
                known[name] = kwargs[name] = value(known)
        return self.fn.run(grid, *args, **kwargs)


def autotune(configs, key=(), **_):
    return lambda fn: Autotuned(fn, configs, key)


def heuristics(values):
    return lambda fn: Heuristics(fn, values)
