"""The values of the host that a kernel uses: a value that changes between two launches counts in the second."""

import enum
import importlib
import sys
import types

import numpy as np
import pytest

import tandem
import tandem.language as tl

LIST = [1, 2]
NUMBER = 3
ZERO = 0.0
CONSTANT = tl.constexpr(4)
ARRAY = np.array(5)
NESTED = ([6],)
module = types.ModuleType("settings")


class Color(enum.Enum):
    RED = 7


class Settings:
    width = 8


settings = types.SimpleNamespace(inner=types.SimpleNamespace(depth=9))


@tandem.jit
def helper(x, factor=10):
    return x * factor + LIST[1]


@tandem.jit
def other_helper(x):
    return x - 1


chosen = helper


@tandem.jit
def kernel(o):
    tl.store(o, LIST[0] + 100 * len(LIST))
    tl.store(o + 1, NUMBER)
    tl.store(o + 2, ZERO + 1)
    tl.store(o + 3, CONSTANT)
    tl.store(o + 4, ARRAY)
    tl.store(o + 5, NESTED[0][0])
    tl.store(o + 6, module.value)
    tl.store(o + 7, Color.RED)
    tl.store(o + 8, Settings.width)
    tl.store(o + 9, settings.inner.depth)
    tl.store(o + 10, chosen(10))


def run():
    o = np.zeros(11, np.int32)
    kernel[(1,)](o)
    return o.tolist()


def set_global(name, value):
    return lambda: setattr(sys.modules[__name__], name, value)


CHANGES = {
    "a list's element": (lambda: LIST.__setitem__(0, 50), 0, 250),
    "a list's length": (lambda: LIST.append(0), 0, 301),
    "a number": (set_global("NUMBER", 30), 1, 30),
    "a constexpr": (set_global("CONSTANT", tl.constexpr(40)), 3, 40),
    "what a constexpr holds": (lambda: setattr(CONSTANT, "value", 41), 3, 41),
    "an array of no dimensions": (lambda: ARRAY.__setitem__((), 50), 4, 50),
    "a list in a tuple": (lambda: NESTED[0].__setitem__(0, 60), 5, 60),
    "an attribute of a module": (lambda: setattr(module, "value", 70), 6, 70),
    "a class attribute": (lambda: setattr(Settings, "width", 80), 8, 80),
    "an attribute": (lambda: setattr(settings.inner, "depth", 90), 9, 90),
    "an object on the way": (lambda: setattr(settings, "inner", types.SimpleNamespace(depth=91)), 9, 91),
    "a function": (set_global("chosen", other_helper), 10, 9),
    "what a function reads": (lambda: LIST.__setitem__(1, 20), 10, 120),
    "a default argument": (lambda: setattr(helper.fn, "__defaults__", (11,)), 10, 112),
}


@pytest.fixture
def restored():
    module.value = 6
    names = ("LIST", "NUMBER", "ZERO", "CONSTANT", "ARRAY", "NESTED", "chosen")
    kept = {name: globals()[name] for name in names}
    globals().update(LIST=[1, 2], CONSTANT=tl.constexpr(4), ARRAY=np.array(5), NESTED=([6],))
    yield
    globals().update(kept)
    Settings.width, settings.inner, helper.fn.__defaults__ = 8, types.SimpleNamespace(depth=9), (10,)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_counts(restored, change):
    apply, place, now = CHANGES[change]
    before = run()
    assert before == [201, 3, 1, 4, 5, 6, 6, 7, 8, 9, 102]
    apply()
    after = run()
    assert after == [now if i == place else x for i, x in enumerate(before)]


def counter():
    count = 1

    @tandem.jit
    def store(o):
        tl.store(o, count)

    def add():
        nonlocal count
        count += 1

    return store, add


def test_closures():
    store, add = counter()
    o = np.zeros(1, np.int32)
    for expected in (1, 2):
        store[(1,)](o)
        assert o[0] == expected
        add()


@tandem.aggregate
class Scaled:
    value: tl.tensor

    @tandem.jit
    def __init__(self, value):
        self.value = value * NUMBER

    @tandem.jit
    def get(self):
        return self.value + LIST[0]


@tandem.jit
def through_aggregate(o):
    tl.store(o, Scaled(5).get())


def test_methods_of_aggregates(restored):
    o = np.zeros(1, np.int32)
    through_aggregate[(1,)](o)
    assert o[0] == 16
    LIST[0] = 2
    set_global("NUMBER", 10)()
    through_aggregate[(1,)](o)
    assert o[0] == 52


@tandem.jit
def calls(o, F: tl.constexpr):
    tl.store(o, F(1))


def test_functions_passed_as_constants(restored):
    o = np.zeros(1, np.int32)
    calls[(1,)](o, helper)
    assert o[0] == 12
    LIST[1] = 5
    calls[(1,)](o, helper)
    assert o[0] == 15


def test_what_is_known_is_not_compiled_again(restored, monkeypatch):
    made = []
    compile_it = tandem._tandem.compile
    monkeypatch.setattr(tandem._tandem, "compile", lambda request: made.append(1) or compile_it(request))
    store, add = counter()
    o = np.zeros(1, np.int32)
    for _ in range(3):
        store[(1,)](o)
    assert len(made) == 1
    fresh = tandem.jit(kernel.fn)
    for width in (8, 80, 8, 80):
        Settings.width = width
        fresh[(1,)](np.zeros(11, np.int32))
    assert len(made) == 3


x = "a local of `shadows`, not this name of the module"


@tandem.jit
def shadows(o):
    x = 1
    tl.store(o, x)


def test_locals_are_not_read_from_the_module():
    o = np.zeros(1, np.int32)
    shadows[(1,)](o)
    set_global("x", 5)()
    assert o[0] == 1 and "x" not in shadows.uses


@tandem.jit
def larger(x, P: tl.constexpr):
    tl.store(x, tl.maximum(tl.load(x), 1.0, propagate_nan=P))


def test_members_of_the_languages_enumerations():
    def main(team):
        for propagates in (tl.PropagateNan.ALL, tl.PropagateNan.NONE):
            x = team.full(1, float("nan"), "fp32")
            larger[(1,)](x, propagates)
            assert np.isnan(x[0]) == (propagates == tl.PropagateNan.ALL)

    tandem.launch(main, ranks=1)


SCALED = """
import tandem
import tandem.language as tl

FACTOR = {}


@tandem.aggregate
class Scaled:
    x: tl.tensor

    @tandem.jit
    def value(self):
        return self.x * FACTOR


@tandem.jit
def store(o):
    tl.store(o, Scaled(tl.program_id(0) + 1).value())
"""


def test_classes_of_modules_of_one_name(tmp_path, monkeypatch):
    """A class has the names of its own module, though another one has taken that module's name."""
    modules = []
    for factor in (2, 3):
        folder = tmp_path / str(factor)
        folder.mkdir()
        (folder / "scaled.py").write_text(SCALED.format(factor))
        monkeypatch.syspath_prepend(folder)
        monkeypatch.delitem(sys.modules, "scaled", raising=False)
        modules.append(importlib.import_module("scaled"))
        assert "FACTOR" in modules[-1].Scaled.source
    for factor, one in zip((2, 3), modules):
        o = np.zeros(1, np.int32)
        one.store[(1,)](o)
        assert o[0] == factor
