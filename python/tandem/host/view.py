"""NumPy's view of a tensor of which kernels have written a part only: who uses the rest is told."""

import numpy as np

from .layout import USE, WRITE, as_slices, selected_runs

_READERS = (np.array_equal, np.array_equiv, np.concatenate, np.dot)  # that do not go through NumPy's universal functions


class HostView(np.ndarray):
    """Tells the simulator which elements the host uses and which it writes, as far as NumPy lets a subclass see it. What it computes are
    plain arrays; its slices are views of this kind. An array that NumPy makes over the same memory without asking is silent."""

    def __array_finalize__(self, source):
        self._tensor = getattr(source, "_tensor", None)

    def _tell(self, part, how):
        if self._tensor is not None:
            self._tensor._note(part, how)

    def _plain(self):
        return self.view(np.ndarray)

    def _note_index(self, index, how):
        """Notes the elements that an index picks."""
        plain = self._plain()
        part = plain[index]
        if not isinstance(part, np.ndarray):
            self._tell(plain[as_slices(index)], how)
        elif part.base is not None:
            self._tell(part, how)
        elif self._tensor is not None:
            self._tensor._tell(selected_runs(plain, index), how)

    def __getitem__(self, index):
        found = super().__getitem__(index)
        if isinstance(found, HostView) and found.base is not None and np.may_share_memory(found, self):
            return found
        self._note_index(index, USE)
        return _plain(found)

    def __setitem__(self, index, value):
        super().__setitem__(index, _used(value))
        self._note_index(index, WRITE)

    def fill(self, value):
        self[...] = value

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **options):
        options = {name: _used(value) for name, value in options.items()}
        if out:
            options["out"] = tuple(map(_plain, out))
        result = getattr(ufunc, method)(*map(_used, inputs), **options)
        for array in out:
            if isinstance(array, HostView):
                array._tell(array._plain(), WRITE)
        return result if not out else out[0] if len(out) == 1 else out

    def __array_function__(self, function, types, arguments, options):
        if function in _READERS:
            return function(*map(_used, arguments), **options)
        result = super().__array_function__(function, types, arguments, options)
        if function is np.copyto and isinstance(arguments[0], HostView):
            arguments[0]._tell(arguments[0]._plain(), WRITE)
        return result


def _plain(value):
    return value._plain() if isinstance(value, HostView) else value


def _used(value):
    """The plain array of a view whose elements are all used; lists of such views likewise."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_used, value)) if any(isinstance(v, HostView) for v in value) else value
    if isinstance(value, HostView):
        value._tell(value._plain(), USE)
    return _plain(value)


def _reader(name):
    method = getattr(np.ndarray, name)
    return lambda self, *arguments, **options: method(_used(self), *arguments, **options)


for _name in (
    "argmax",
    "argmin",
    "argsort",
    "astype",
    "copy",
    "cumprod",
    "cumsum",
    "dot",
    "item",
    "nonzero",
    "repeat",
    "take",
    "tobytes",
    "tolist",
    "__repr__",
    "__str__",
    "__format__",
    "__bool__",
    "__int__",
    "__float__",
    "__reduce_ex__",
):
    setattr(HostView, _name, _reader(_name))
