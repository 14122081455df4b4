"""Errors planted in how keys and values arrive and a call ends: every one is found; as it is, the kernel is right, of a small instance
under every schedule."""

import functools
import itertools
import pathlib
import re
import sys

import numpy as np
import pytest

OPS = pathlib.Path(__file__).parents[2]
sys.path += [str(OPS / "test"), str(OPS / "attention" / "test")]

from changed_kernels import imported
from gather_attention_reference import Case

import tandem
from tandem.check.explore import POLICIES

FILES = [*(f"device/{name}.py" for name in ("attention", "calls", "attention_forward")), "ag_attention/ag_attention.py"]
*_, FORWARD, KERNEL = FILES
CHANNEL = "tilelink/streams.py"
BLOCK_M, BLOCK_N, D = 32, 16, 64

AWAITED = '"sys", "acquire", waitValue=arrival[5] + band + 1'
PUT_BACK = "                shmem.signal_op(channel.words + band, 0, shmem.NVSHMEM_SIGNAL_SET, rank)\n"
MET = "            shmem.signal_wait_until(done + peer, shmem.NVSHMEM_CMP_GE, call)\n"
LAST = "tl.num_programs(1) * tl.num_programs(2)):"

# The change; words of the kinds of reports. What was there before the call and is taken for the call's is no race: it shows in the result.
PLANTED = {
    "wait dropped": ((FORWARD, "        if ARRIVES:\n", "        if False:\n"), "race"),
    "one band too few": ((FORWARD, AWAITED, AWAITED.replace("band + 1", "band")), "race"),
    "the band of the first group": ((KERNEL, "group * bands)", "0)"), "race"),
    "waits once": ((FORWARD, "there = (band + 1) * arrival[3]", "there = 1 << 30"), "race"),
    "relaxed wait": ((FORWARD, AWAITED, AWAITED.replace("acquire", "relaxed")), "race"),
    "narrow wait": ((FORWARD, AWAITED, AWAITED.replace("sys", "cta")), "race|scope"),
    "signal of the next rank": ((KERNEL, "ready_ptr + peer, first", "ready_ptr + (peer + 1) % ranks, first"), "race|deadlock|livelock"),
    "not put back": ((CHANNEL, PUT_BACK, ""), "race|wrong"),
    "ranks do not meet": ((CHANNEL, MET, ""), "race|signal|deadlock|wrong"),
    "peers' keys from a rank on": (
        (KERNEL, "(first + slot * pitch, ", "(first + (slot + 1) % ranks * pitch, "),
        "race|wrong|uninitialised",
    ),
    "window: high rows not awaited": ((KERNEL, "arrival[1] + before", "arrival[1] - low"), "race"),
    "window: a rank's keys at the next one's place": (
        (KERNEL, "places_in_sequence(length, peer,", "places_in_sequence(length, (peer + 1) % ranks,"),
        "race|wrong",
    ),
    "ring: the most of the scores not kept": ((KERNEL, "    tl.store(at + V + 1, sums[2], mask=inside)\n", ""), "wrong"),
    "ring with a window: arrivals not awaited": (
        (KERNEL, "for nth in range(first_nth, end_nth):\n                    link", "for nth in range(0):\n                    link"),
        "race",
    ),
    "ring: own keys in every launch": ((KERNEL, "    elif BEGINS:", "    else:"), "wrong"),
    "ended by the last but one": ((KERNEL, LAST, LAST[:-2] + " - 1):"), "race|signal|deadlock|livelock|wrong"),
}
HOST = {
    "signal first": "race",
    "wrong slot": "race|deadlock|wrong|uninitialised",
    "wrong signal": "race|deadlock|livelock",
    "pushed before it is there": "race|wrong|uninitialised",
    "values behind the signal": "race",
    "ring: told too soon": "race",
    "ring: room not awaited": "race|signal",
    "ring: room not put back": "race|signal",
    "ring: the other slot": "race|wrong",
}


class Launches:
    """The operator as ops/ag_attention/ag_attention.cpp queues it."""

    def __init__(self, team, case, kernel, host=()):
        self.team, self.case, self.kernel, self.host = team, case, kernel, host
        shard, self.bands = -(-case.m // team.size), case.options.get("bands", 1)
        self.groups, self.window = case.options.get("groups", 1), case.options.get("window", 0)
        self.pitch, self.band_rows = shard + BLOCK_N, -(-shard // self.bands)
        self.ring = case.options.get("ring", False)
        self.slots = 2 if self.ring else team.size
        self.free = team.zeros((team.size,), "int64", name="free")
        self.state = team.local_from_array(np.zeros(shard * case.heads[0] * (D + 4), np.float32), name="state")
        self.all = [team.zeros((self.slots * self.pitch, case.heads[1], D), case.dtype, name=n) for n in ("keys", "values")]
        self.ready = team.zeros((2 * team.size + 2,), "int64", name="ready")[team.size + 2 :]
        self.beside = team.new_stream()

    def copy(self, to, x, group):
        """The columns of a group's heads."""
        heads = x.shape[1] // self.groups
        columns = slice(group * heads, (group + 1) * heads)
        rows = [(to, x)] if self.groups == 1 else [(to[i, columns], x[i, columns]) for i in range(x.shape[0])]
        for to, x in rows:
            self.beside.copy(to, x)

    def make_room(self, distance):
        """For what the ring's third rank and those behind it bring, once what was launched last has ended."""
        rank, ranks, host = self.team.rank, self.team.size, self.host
        free = self.free[distance : distance + 1]
        if "ring: told too soon" not in host:
            self.beside.wait_event(self.team.stream.record_event())
        self.beside.signal_write(free.peer((rank - distance) % ranks), 1)
        if "ring: room not awaited" not in host:
            self.beside.signal_wait(free, 1, "ge")
        if "ring: room not put back" not in host:
            self.beside.signal_write(free, 0)

    def push(self, given, group, distance):
        rank, ranks, host = self.team.rank, self.team.size, self.host
        rows, peer = given[0].shape[0], (rank + distance) % ranks
        slot = (rank + 1) % ranks if "wrong slot" in host else rank
        if self.ring:
            slot = (distance + ("ring: the other slot" in host)) % 2
            if distance > 2:
                self.make_room(distance)
        other = (rank + 1) % ranks if "wrong signal" in host else rank
        signal = self.ready.peer(peer)[other : other + 1]
        for band in range(self.bands):
            first, end = min(band * self.band_rows, rows), min((band + 1) * self.band_rows, rows)
            tensors = list(zip(self.all, given)) if first < end else []
            late = tensors if "signal first" in host else tensors[1:] if "values behind the signal" in host else []

            def copy(some, peer=peer, slot=slot, first=first, end=end, group=group):
                for to, x in some:
                    to = to.peer(peer)[slot * self.pitch + first : slot * self.pitch + end]
                    self.copy(to, x[first:end], group)

            copy([pair for pair in tensors if pair not in late])
            if first < end or band + 1 == self.bands:
                self.beside.signal_write(signal, group * self.bands + band + 1)
            copy(late)

    def __call__(self, q, *given):
        team, (hq, hkv), own = self.team, self.case.heads, q.shape[1]
        given = [x[0] for x in given]
        out, lse = team.local_empty((1, own, hq, D), self.case.dtype, name="out"), team.local_empty((1, hq, own), "float32", name="lse")
        if "pushed before it is there" not in self.host:
            self.beside.wait_event(team.stream.record_event())
        low = -(-own // 2)
        blocks = -(-low // BLOCK_M) - (low - own) // BLOCK_M
        numbers = (
            D**-0.5 * np.log2(np.e),
            0.0,
            team.rank,
            team.size,
            self.case.m,
            own,
            own,
            self.pitch,
            self.slots * self.pitch,
            self.bands,
            self.band_rows,
            self.window,
        )
        for nth in range(1, team.size) if self.ring else [1]:
            end = nth + 1 if self.ring else team.size
            if "loads wait for the device" in self.host:
                team.stream.synchronize()
                self.beside.synchronize()
            self.launch((q, *given, out, lse), (*numbers, nth, end), (hq, hkv), blocks, nth == 1, end == team.size)
            there = range(1 if nth == 1 else nth + 2, min(nth + 3, team.size) if self.ring else team.size)
            if "ring: pushed behind all launches" in self.host:
                there = range(1, team.size) if end == team.size else ()
            for group, distance in itertools.product(range(self.groups), there):
                self.push(given, group, distance)
        team.stream.wait_event(self.beside.record_event())
        return out, lse

    def launch(self, tensors, numbers, heads, blocks, begins, ends):
        (q, k, v, out, lse), (hq, hkv) = tensors, heads
        constants = {
            "HQ": hq,
            "HKV": hkv,
            "GROUPS": self.groups,
            "D": D,
            "V": D,
            "D0": D,
            "D1": 0,
            "V0": D,
            "V1": 0,
            "BLOCK_M": BLOCK_M,
            "BLOCK_N": BLOCK_N,
        }
        constants |= {
            "CAUSAL": True,
            "IN_ORDER": False,
            "WINDOW": self.window > 0,
            "CAP": False,
            "SINKS": False,
            "LSE": True,
            "VARLEN": False,
            "WHOLE": False,
            "ARRIVES": True,
            "RING": self.ring,
            "BEGINS": begins,
            "ENDS": ends,
        }
        pointers = (q, k, v, *self.all, lse, lse, lse, out, self.ready, self.state)
        self.kernel[(hq // self.groups, blocks, self.groups)](*pointers, *numbers, **constants, num_warps=4)


def calls(team, cases, kernel, host=()):
    launches, outs = Launches(team, cases[0], kernel, host), []
    for case in cases:
        given = [team.local_empty(x.shape, case.dtype, name=n) for n, x in zip(("q", "k", "v"), case.given(team.rank))]
        for to, x in zip(given, case.given(team.rank)):
            team.stream.copy(to, team.local_from_array(x))
        outs.append(launches(*given))
        for x in given:
            team.stream.memset(x, 255)  # the next item of the stream
    return [[np.array(x) for x in out] for out in outs]


def cases_of(ranks, count, m=72, bands=3, groups=1, window=0, ring=False):
    more = {"window": window} if window else {}
    more |= {"ring": True} if ring else {}
    return [Case(ranks, m, hq=groups, hkv=groups, causal=True, bands=bands, groups=groups, seed=i, **more) for i in range(count)]


def kernel_of(folder, *changes):
    return imported(folder, FILES, ["ag_attention.ag_attention"], *changes)[0].ag_attention


def check(cases, result):
    for rank, found in enumerate(result.values):
        for case, out in zip(cases, found):
            case.check(rank, out)


@pytest.mark.parametrize(
    "ranks, options", [(2, {}), (3, {}), (2, {"groups": 2}), (3, {"window": 20}), *((ranks, {"ring": True}) for ranks in (2, 3, 5))]
)
def test_as_it_is(tmp_path, ranks, options):
    cases, kernel = cases_of(ranks, 3, **options), kernel_of(tmp_path)
    for seed in range(6):
        policy = POLICIES[seed % len(POLICIES)]
        result = tandem.launch(lambda team: calls(team, cases, kernel), ranks=ranks, seed=seed, policy=policy, check=True)
        assert result.reports == []
        check(cases, result)


@pytest.mark.parametrize("pushes", ["", "ring: pushed behind all launches"])
@pytest.mark.parametrize("ranks", [3, 5])
def test_loads_that_wait_for_the_device(tmp_path, ranks, pushes):
    """A driver may finish what a device runs before it loads the next launch's code; what runs waits for the peers' pushes."""
    cases, kernel = cases_of(ranks, 2, ring=True), kernel_of(tmp_path)
    for seed in range(4):
        main = functools.partial(calls, cases=cases, kernel=kernel, host=["loads wait for the device", pushes])
        if pushes:
            with pytest.raises(tandem.SimulationError, match="deadlock"):
                tandem.launch(main, ranks=ranks, seed=seed, check=True)
        else:
            check(cases, tandem.launch(main, ranks=ranks, seed=seed, check=True))


@pytest.mark.parametrize("name", [*PLANTED, *HOST])
def test_planted_errors(tmp_path, name):
    changes, kinds = ([PLANTED[name][0]], PLANTED[name][1]) if name in PLANTED else ([], HOST[name])
    ring = "ring" in name
    ranks = 5 if ring else 3 if "next rank" in name or "wrong" in name else 2
    groups = 2 if "group" in name else 1
    window = 10 if "window" in name else 0
    cases, kernel, found = cases_of(ranks, 3, groups=groups, window=window, ring=ring), kernel_of(tmp_path, *changes), []
    for seed in range(12):
        policy = POLICIES[seed % len(POLICIES)]
        try:
            result = tandem.launch(lambda team: calls(team, cases, kernel, [name]), ranks=ranks, seed=seed, policy=policy, check=True)
            found = result.reports or found
            if not found:
                check(cases, result)
        except tandem.SimulationError as caught:
            found = caught.reports
        except AssertionError as caught:
            found = [{"kind": "wrong result", "text": str(caught)}]
        if found:
            break
    assert found, "not found"
    assert re.search(kinds, found[0]["kind"]), found[0]["text"]


@pytest.mark.parametrize("ranks, options", [(2, {}), (2, {"window": 1}), (3, {"ring": True})])
def test_every_schedule(tmp_path, ranks, options):
    cases, kernel = cases_of(ranks, 1, m=ranks, bands=1, **options), kernel_of(tmp_path)
    proof = tandem.explore(lambda team: calls(team, cases, kernel), ranks=ranks, exhaustive=True, limit=20_000)
    assert proof.proven, str(proof)
