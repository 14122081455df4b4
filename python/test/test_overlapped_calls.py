"""What the host queues for an overlapped call: how many operations, and that they may be queued again as they are, as a CUDA graph does."""

import types

import numpy as np
import pytest
from plain_products import grouped

import tandem
from tandem import _tandem

BLOCKS = dict(BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, GROUP=2)
QUEUED = ["launch", "copy", "set", "signal_write", "signal_wait", "signals", "record_event", "wait_event", "barrier_on_stream"]
QUEUED = [getattr(_tandem, name) for name in QUEUED]


class Recorded:
    """What a rank queues in a `with` block."""

    def __init__(self, team):
        self.team, self.calls = team, []

    def __enter__(self):
        whole = self.team._call

        def call(function, *args):
            result = whole(function, *args)
            if function in QUEUED or isinstance(function, types.FunctionType):  # of an operator
                self.calls.append((function, args, result))
            return result

        self.team._call = call
        return self

    def __exit__(self, *_):
        del self.team._call

    def again(self):
        """Queues the same, with the same arguments."""
        events = {}
        for function, args, result in self.calls:
            if function is _tandem.wait_event:
                args = (args[0], events[args[1]])
            value = self.team._call(function, *args)
            if function is _tandem.record_event:
                events[result] = value


def right(k, n):
    return np.random.default_rng(0).integers(-2, 3, (k, n)).astype(np.float16)


def gathered(team, kernel, **plan):
    """A call, and the matrices that it takes: its own rows, and the result."""
    m, n, k = 32 * team.size, 32, 48
    a, b = team.zeros((m, k), "float16", name="a"), team.local_from_array(right(k, n))
    c = team.local_empty((m, n), "float16")
    derived = tandem.overlap(collective="all_gather", consumer=kernel, over="a_ptr", **plan)
    own = slice(32 * team.rank, 32 * team.rank + 32)
    return lambda: derived[(m // 16 * n // 16,)](a, b, c, m, n, k, k, 1, n, 1, n, 1, **BLOCKS), (a, own), lambda left: left @ np.array(b), c


def summed(team, kernel, collective, **plan):
    m, n, k = 32 * team.size, 32, 16
    a, b = team.local_empty((m, k), "float16"), team.local_from_array(right(k, n))
    c = team.zeros((m, n), "float16", name="c")
    derived = tandem.overlap(collective=collective, producer=kernel, over="c_ptr", **plan)
    return lambda: derived[(m // 16 * n // 16,)](a, b, c, m, n, k, k, 1, n, 1, n, 1, **BLOCKS), a, lambda left: left @ np.array(b), c


def replayed(team, collective, plan):
    random = np.random.default_rng(7)
    lefts = random.integers(-2, 3, (3, team.size, 32 * team.size, 48 if collective == "all_gather" else 16)).astype(np.float16)
    rank, m = team.rank, 32 * team.size
    if collective == "all_gather":
        call, (a, own), product, c = gathered(team, grouped, **plan)
    else:
        call, a, product, c = summed(team, grouped, collective, **plan)
    recorded = Recorded(team)
    for i, left in enumerate(lefts):
        if collective == "all_gather":
            a[own] = left[0][own]
        else:
            a[...] = left[rank]
        if i == 0:
            call()
            with recorded:
                call()
            if collective == "all_gather":
                continue
        else:
            recorded.again()
        result = np.array(c)
        if collective == "all_gather":
            assert (result == product(left[0])).all()
        elif i:
            each = [product(one) for one in left]
            share = lambda x, r: x[32 * r : 32 * r + 32]
            if collective == "all_to_all":
                assert (result == np.concatenate([share(x, rank) for x in each])).all()
            else:
                mine = slice(0, m) if collective == "all_reduce" else slice(32 * rank, 32 * rank + 32)
                assert (result[mine] == sum(each)[mine]).all()
    return len(recorded.calls)


CALLS = [
    ("all_gather", dict(bands=1)),
    ("all_gather", dict(bands=4)),
    ("all_gather", dict(path="loads")),
    ("reduce_scatter", dict(bands=1, path="copies")),
    ("reduce_scatter", dict(path="loads")),
    ("all_reduce", dict(bands=1, path="copies")),
    ("all_reduce", dict(path="loads")),
    ("all_to_all", dict(bands=1)),
]


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("collective, plan", CALLS)
def test_queued_again_as_it_is(collective, plan, ranks):
    result = tandem.launch(replayed, ranks=ranks, seed=ranks, check=True, args=(collective, plan))
    assert result.reports == []


# Of two ranks. Before calls could be captured these were 11, 17, 10, 11 and 11, without a path by loads; a replay is one.
OPERATIONS = [9, 15, 2, 9, 2, 10, 2, 10]


@pytest.mark.parametrize("call, operations", list(zip(CALLS, OPERATIONS)))
def test_operations_of_a_call(call, operations):
    assert tandem.launch(replayed, ranks=2, args=call).values == [operations, operations]
