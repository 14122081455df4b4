"""Calls operators thousands of times while ranks are late at random, and compares every result bit by bit: `python stress.py --ranks 4`.

Before each call a rank may sleep on the device or on the host, up to a millisecond; inputs change each time and outputs are poisoned. Once
as calls, once as replays of one captured graph, and once with all operators mixed. Inputs are small integers: sums in any order are exact.
"""

import argparse
import json
import os
import pathlib
import random
import sys
import tempfile
import time

from processes import Processes

STALL_S = 90
SETS = 8
BATCH = 250
# operation, rows over all ranks, columns, inner size of a rank (or columns of the data that is moved)
CASES = [
    ("ag_gemm", 512, 256, 128),
    ("ag_gemm", 509, 136, 72),
    ("ag_gemm", 8192, 640, 2048),  # between two ranks in bands
    ("gemm_rs", 512, 256, 32),
    ("gemm_rs", 509, 136, 24),
    ("gemm_rs", 4096, 4096, 2048),  # the last one's parts are copied
    ("gemm_ar", 64, 256, 32),
    ("gemm_ar", 1, 512, 32),
    ("all_reduce", 1, 1024, None),
    ("all_reduce", 16, 32768, None),
    ("reduce_scatter", 512, 256, None),
    ("all_gather", 512, 256, None),
    # of tokens of a rank, there and back
    ("ep", 64, 512, "latency"),
    ("ep", 64, 512, "throughput"),
    ("ep", 64, 512, "by_expert"),
    ("ep", 64, 512, "spread"),
]
EXPERTS, TOP_K = 16, 4


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--iterations", type=int, default=10000)
    parser.add_argument("--only", action="append", metavar="OP")
    parser.add_argument("--limit", type=float, default=560, help="seconds")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


class Sets:
    """A case's inputs on this rank and the results, for several sets of inputs; the tensors that calls use."""

    def __init__(self, case, rank, size, device, seed):
        import torch

        self.name, m, n, k = case
        self.case = case
        generator = torch.Generator().manual_seed(seed)

        def integers(*shape):
            return torch.randint(-1, 2, shape, generator=generator).double()

        shard = -(-m // size)
        rows = slice(min(rank * shard, m), min((rank + 1) * shard, m))
        self.m = m
        self.inputs, self.expected = [], []
        for _ in range(SETS):
            lefts = [integers(m, k or n) for _ in range(size)]
            rights = [integers(k, n) for _ in range(size)] if k else None
            gathers = self.name in ("ag_gemm", "all_gather")
            mine = lefts[0][rows] if gathers else lefts[rank]
            if gathers:
                whole = lefts[0] @ rights[rank] if k else lefts[0]
            else:
                whole = sum(a @ b for a, b in zip(lefts, rights)) if k else sum(lefts)
            scatters = self.name in ("gemm_rs", "reduce_scatter")
            tensors = [mine, rights[rank]] if k else [mine]
            self.inputs.append([t.to(device, torch.bfloat16).contiguous() for t in tensors])
            self.expected.append((whole[rows] if scatters else whole).to(device, torch.bfloat16).contiguous())
        self.now = [t.clone() for t in self.inputs[0]]
        self.out = torch.empty_like(self.expected[0])

    def call(self):
        import tandem.torch

        function = getattr(tandem.torch, self.name)
        function(*self.now, *((self.m,) if self.name in ("ag_gemm", "all_gather") else ()), out=self.out)


class Experts:
    """Dispatch and combine, likewise: every expert gives what it gets, and one slot of five is dropped."""

    KINDS = {
        "latency": {},
        "throughput": {"mode": "throughput"},
        "by_expert": {"by_expert": True},
        "spread": {"by_expert": True, "mode": "throughput"},
    }

    def __init__(self, case, rank, size, device, seed):
        import torch

        _, self.m, columns, kind = self.case = case
        self.options, self.slots = self.KINDS[kind], size * self.m * TOP_K
        self.places = 64 + 2 * -(-EXPERTS // size) + self.slots
        generator = torch.Generator().manual_seed(seed * size + rank)
        self.inputs, self.expected = [], []
        for _ in range(SETS):
            x = torch.randint(-8, 9, (self.m, columns), generator=generator).float()
            ids = torch.rand(self.m, EXPERTS, generator=generator).topk(TOP_K).indices.int()
            ids[torch.rand(ids.shape, generator=generator) < 0.2] = -1
            weights = torch.randint(1, 5, ids.shape, generator=generator) / 4
            self.inputs.append([t.to(device) for t in (x, ids, weights)])
            self.expected.append((x * torch.where(ids >= 0, weights, 0).sum(1, keepdim=True)).to(device))
        self.now = [t.clone() for t in self.inputs[0]]
        self.out = torch.empty_like(self.expected[0])
        self.h = torch.empty(self.slots + 1, columns, device=device)

    def call(self):
        import tandem.torch
        import torch

        x, ids, weights = self.now
        rows, route, *_ = tandem.torch.ep_dispatch(x, ids, weights, self.m, EXPERTS, **self.options)
        if "by_expert" not in self.options:
            place = route[self.places :][: self.slots].long()
            self.h[torch.where(place >= 0, place, self.slots)] = rows.repeat_interleave(TOP_K, 0)
            rows = self.h[: self.slots]
        mode = {name: value for name, value in self.options.items() if name == "mode"}
        tandem.torch.ep_combine(rows, route, ids, self.m, EXPERTS, out=self.out, **mode)


class Stress:
    def __init__(self, plan):
        import torch
        import tandem.torch

        self.torch, self.plan = torch, plan
        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.team = tandem.torch.init(wait_timeout=30)
        device = torch.device("cuda", torch.cuda.current_device())
        self.cases = [
            (Experts if case[0] == "ep" else Sets)(case, self.rank, self.size, device, plan["seed"]) for case in map(tuple, plan["cases"])
        ]
        self.bad = torch.zeros(1, dtype=torch.int64, device=device)
        self.shared, self.own = random.Random(plan["seed"]), random.Random(plan["seed"] * 1000 + self.rank + 1)

    def delay(self):
        """Mostly short, one in five up to a millisecond; the host now and then."""
        cycles = self.own.random() * (2_000_000 if self.own.random() < 0.2 else 40_000)
        self.torch.cuda._sleep(int(cycles))
        if self.own.random() < 0.02:
            time.sleep(self.own.random() * 1e-3)

    def loop(self, title, cases, calls):
        self.bad.zero_()
        for i in range(self.plan["iterations"]):
            which = self.shared.randrange(len(cases))
            case, chosen = cases[which], self.shared.randrange(SETS)
            for now, given in zip(case.now, case.inputs[chosen]):
                now.copy_(given)
            case.out.fill_(float("nan"))
            self.delay()
            calls[which]()
            self.bad.add_((case.out != case.expected[chosen]).any())
            if i % BATCH == BATCH - 1:
                self.torch.cuda.synchronize()
                self.tell(alive=title)
        self.torch.cuda.synchronize()
        self.tell(title=title, calls=self.plan["iterations"], failed=int(self.bad.item()))

    def tell(self, **what):
        with open(f"{self.plan['progress']}{self.rank}", "a") as file:
            file.write(json.dumps(what) + "\n")

    def run(self):
        from timing import captured

        for case in self.cases:
            title = " ".join(str(v) for v in case.case if v is not None)
            self.loop(title, [case], [case.call])
            graph = captured(case.call)
            self.loop(f"{title}, graph", [case], [graph.replay])
            del graph
        if len(self.cases) > 1:
            self.loop("all mixed", self.cases, [case.call for case in self.cases])
        self.tell(done=True)
        import tandem.torch

        tandem.torch.release()


class Watch:
    """The lines that the ranks have written so far."""

    def __init__(self, path, ranks):
        self.files = [pathlib.Path(f"{path}{rank}") for rank in range(ranks)]
        for file in self.files:
            file.touch()
        self.told = []
        self.heard = time.monotonic()

    def look(self):
        told = [[json.loads(line) for line in file.read_text().splitlines() if line.endswith("}")] for file in self.files]
        if told != self.told:
            self.told, self.heard = told, time.monotonic()

    def done(self):
        return all(any("done" in message for message in rank) for rank in self.told)

    def results(self):
        """title -> (calls, failed on the rank that failed most)."""
        found = {}
        for rank in self.told:
            for message in rank:
                if "title" in message:
                    before = found.get(message["title"], (0, 0))
                    found[message["title"]] = (message["calls"], max(before[1], message["failed"]))
        return found


def follow(processes, watch, end):
    """Returns why it ended early, or None."""
    while True:
        watch.look()
        if watch.done():
            return None
        codes = processes.codes()
        if any(code is not None for code in codes):
            return f"processes ended with {codes}"
        if time.monotonic() - watch.heard > STALL_S:
            return f"no progress for {STALL_S} s"
        if time.monotonic() > end:
            return "the time is over"
        time.sleep(0.2)


def main():
    options = parse()
    cases = [c for c in CASES if not options.only or c[0] in options.only]
    expected = (2 * len(cases) + (len(cases) > 1)) * options.iterations
    with tempfile.TemporaryDirectory() as folder:
        plan = pathlib.Path(folder) / "plan.json"
        plan.write_text(
            json.dumps({"cases": cases, "iterations": options.iterations, "seed": options.seed, "progress": f"{folder}/progress"})
        )
        watch = Watch(f"{folder}/progress", options.ranks)
        processes = Processes(options.ranks, __file__, ["--worker", plan], f"{folder}/stress")
        try:
            why = follow(processes, watch, time.monotonic() + options.limit)
            if why:
                print(f"{why}\n{processes.tails()}")
        finally:
            processes.kill()
    results = watch.results()
    for title, (calls, failed) in results.items():
        print(f"{title}: {calls} calls, {failed} wrong")
    failed = sum(f for _, f in results.values()) + (expected - sum(c for c, _ in results.values()))
    print(f"{expected - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    if "--worker" in sys.argv:
        Stress(json.loads(pathlib.Path(sys.argv[-1]).read_text())).run()
    else:
        sys.exit(main())
