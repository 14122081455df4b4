"""One rank of the measurement: `worker.py PLAN.json`, started by run.py with the launcher's variables set.

Measures the plan's cases in turn. Rank 0 tells the parent where it is, line by line, so that a contender that hangs or takes the process
with it costs only itself. Exits with 3 when a rank may be left waiting for another: then all start again without that contender.
"""

import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading
from datetime import timedelta

import torch
import torch.distributed as dist

from cases import derived, flop
from contenders import Case, Ranks, first_line, relative_error
from timing import Timer, captured

BROKEN = 3
TOLERANCE = 1e-2
LONG_US = 2000
USER_ERRORS = (ValueError, TypeError, NotImplementedError, AttributeError)


class Broken(Exception):
    """The ranks no longer agree on the next call."""


class Progress:
    def __init__(self, path, rank):
        self.file = open(path, "a") if rank == 0 else None

    def tell(self, event, **fields):
        if self.file:
            self.file.write(json.dumps({"event": event, **fields}) + "\n")
            self.file.flush()


class Agreement:
    """Small values that all ranks exchange on the host."""

    def __init__(self, store, rank, size):
        self.store, self.rank, self.size, self.count = store, rank, size, 0

    def all(self, value):
        self.count += 1
        self.store.set(f"{self.count}/{self.rank}", json.dumps(value))
        return [json.loads(self.store.get(f"{self.count}/{r}")) for r in range(self.size)]


class Worker:
    def __init__(self, plan):
        self.plan = plan
        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(self.device)
        self.progress = Progress(plan["progress"], self.rank)
        self.progress.tell("at", contender="", phase="start")
        store = dist.TCPStore(os.environ["MASTER_ADDR"], int(plan["port"]), self.size, self.rank == 0, timeout=timedelta(seconds=60))
        self.agree = Agreement(dist.PrefixStore("agree", store), self.rank, self.size)
        dist.init_process_group(
            "nccl",
            store=dist.PrefixStore("group", store),
            rank=self.rank,
            world_size=self.size,
            timeout=timedelta(seconds=60),
            device_id=self.device,
        )
        torch.manual_seed(1000 * plan["seed"] + self.rank)
        self.setup_errors = {}
        self.ranks = Ranks(self.rank, self.size, self.device, dist.group.WORLD.group_name)
        self.ranks.symm = self._setup("symmetric memory", self._symmetric_memory)
        self.ranks.tandem = self._setup("tandem", self._tandem) if "tandem" not in plan["without"] else None
        self.timer = Timer(self._barrier(), plan["lead_us"])
        if self.rank == 0:
            self.progress.tell("machine", machine=self._machine(), setup_errors=self.setup_errors)

    def _setup(self, name, make):
        made, error = None, None
        try:
            made = make()
        except Exception as caught:
            error = first_line(caught)
        errors = [e for e in self.agree.all(error) if e]
        if errors:
            self.setup_errors[name] = errors[0]
        return made if not errors else None

    def _symmetric_memory(self):
        import torch.distributed._symmetric_memory as symm

        symm.enable_symm_mem_for_group(self.ranks.group)
        return symm

    @staticmethod
    def _tandem():
        import tandem.torch

        tandem.torch.init(wait_timeout=20)
        return tandem.torch

    def _barrier(self):
        """A barrier of all ranks on the stream: PyTorch's, in one small kernel, or a small all-reduce."""
        if self.ranks.symm is not None:
            try:
                pad = self.ranks.symm.empty(1024, dtype=torch.int32, device=self.device)
                handle = self.ranks.symm.rendezvous(pad, self.ranks.group)
                self._pad = pad
                return lambda: handle.barrier(channel=0)
            except Exception as error:
                self.setup_errors["barrier"] = first_line(error)
        word = torch.zeros(1, device=self.device)
        return lambda: dist.all_reduce(word)

    def _machine(self):
        query = [
            "nvidia-smi",
            "--query-gpu=name,driver_version,clocks.sm,clocks.max.sm,power.draw,power.limit,temperature.gpu",
            "--format=csv,noheader",
        ]
        machine = {
            "ranks": self.size,
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "gpus": _output(query).splitlines(),
            "commit": _output(["git", "rev-parse", "HEAD"], pathlib.Path(__file__).parent),
            "lead_us": self.plan["lead_us"],
            "weights": self.plan["weights"],
        }
        try:
            machine["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
        except Exception as error:
            machine["nccl"] = first_line(error)
        if self.ranks.tandem:
            import tandem

            library = pathlib.Path(tandem.__file__).parent / "libtandem.so"
            machine |= {"tandem": tandem.__version__, "library": hashlib.sha256(library.read_bytes()).hexdigest()[:16]}
        return machine

    def run(self):
        for item in self.plan["cases"]:
            row = self._row(item["case"], set(item["skip"]), item["errors"])
            self.progress.tell("row", index=item["index"], row=row)
            if self.ranks.tandem:
                self.ranks.tandem.release()
            torch.cuda.empty_cache()
        if self.rank == 0:
            self.progress.tell("machine", machine={"gpus_after": self._machine()["gpus"]}, setup_errors=self.setup_errors)

    def _attempt(self, name, phase, function, errors):
        """function() on all ranks, or its error in `errors`. Ranks that fail alone leave the others waiting: then nothing goes on."""
        self.progress.tell("at", contender=name, phase=phase)
        value, error = None, None
        try:
            value = function()
        except Exception as caught:
            error, kind = first_line(caught), isinstance(caught, USER_ERRORS)
        states = self.agree.all([error, error is None or kind])
        failed = [e for e, _ in states if e]
        if not failed:
            torch.cuda.synchronize()
            return value, True
        errors[name if phase != "graph" else f"{name} in a graph"] = failed[0]
        if len(failed) < self.size or (name == "tandem" and not all(mild for _, mild in states)):
            raise Broken(failed[0])
        torch.cuda.synchronize()
        return None, False

    def _row(self, case, skip, errors):
        row = {**case, "flop": flop(case), "errors": dict(errors)}
        errors = row["errors"]
        if self.ranks.tandem and case["op"] != "all_reduce":
            row["chosen"] = self._chosen(case)
        built, ok = self._attempt("case", "build", lambda: Case(case, self.ranks, self._weights(case)), errors)
        if not ok:
            return row
        errors.update({k: v for own in self.agree.all(built.errors) for k, v in own.items()})
        active = {k: c for k, c in built.contenders.items() if k not in errors and k not in skip}
        row["relative_error"] = {}
        built.fresh()
        exact = built.reference()
        for name in list(active):
            if not self._check(active[name], name, "check", exact, row, active[name].call):
                del active[name]
        del exact
        probe = self._times(active, 3, "probe")
        repetitions = self.plan["long_repetitions"] if max(t for t, _ in probe.values()) > LONG_US else self.plan["repetitions"]
        row["repetitions"] = repetitions
        times = self._times(active, repetitions, "time")
        row["us"], row["host_us"] = ({k: round(v[i], 2) for k, v in times.items()} for i in (0, 1))
        row |= derived(case, self.size, _sound(row["us"], errors))
        if self.plan["tune"] and "tandem" in active:
            row["tuned"], ok = self._attempt("tandem", "tune", lambda: self._tuned(case, built), errors)
        if self.plan["graphs"]:
            self._graphs(built, active, skip, row, repetitions)
        return row

    def _weights(self, case):
        return case.get("weights", self.plan["weights"])

    def _chosen(self, case):
        """What the model chooses, and the microseconds that it says."""
        import tandem
        from tandem.ops import choices

        word = _word(case)
        transposed = word == "fp8e4nv" or self._weights(case) == "nk"
        programs = torch.cuda.get_device_properties(self.device).multi_processor_count
        sizes = case["m"], case["local_n"], case["local_k"], self.size
        return choices(case["op"], *sizes, word, programs=programs, profile=tandem.profile(), b_transposed=transposed)[0]

    def _tuned(self, case, built):
        """What `tune` finds: microseconds of the model's choice and of the best."""
        from tandem import ops
        from tandem.torch import world

        name = {"ag_gemm": "AllGatherGemm", "gemm_rs": "GemmReduceScatter", "gemm_ar": "GemmAllReduce"}[case["op"]]
        team, m = world.current().team, case["m"]
        word = _word(case)
        transposed = built.inputs[1].stride(0) == 1
        a, b = (_on_team(team, t.t() if t.stride(0) == 1 else t, word) for t in built.inputs)
        with getattr(ops, name)(team, m, case["local_n"], case["local_k"], word, b_transposed=transposed) as op:
            found = op.tune(a, b, m)
        return {"untuned": found.untuned, "measured": found.measured, "config": found.config}

    def _check(self, contender, name, phase, exact, row, call):
        """Runs a contender on the inputs as they are and compares; notes a wrong result. False where it did not run."""

        def once():
            contender.poison()
            if contender.reset:
                contender.reset()
            torch.cuda.synchronize()
            call()

        ok = self._attempt(name, phase, once, row["errors"])[1]
        if not ok or contender.output is None:
            return ok
        error = max(self.agree.all(_finite(relative_error(contender.output(), exact))))
        key = name if phase == "check" else f"{name} in a graph"
        row["relative_error"][key] = round(error, 6)
        if error > TOLERANCE:
            row["errors"][key] = f"wrong result: relative error {error:.3g}"
        return True

    def _times(self, active, repetitions, phase):
        """name -> (device, host) microseconds: median of a rank, largest of the ranks."""
        self.progress.tell("at", contender="", phase=phase)
        measured = self.timer.measure(
            {k: c.call for k, c in active.items()}, repetitions, {k: c.reset for k, c in active.items() if c.reset}
        )
        own = {k: [statistics.median_high(v) for v in values] for k, values in measured.items()}
        everyone = self.agree.all(own)
        return {k: [max(each[k][i] for each in everyone) for i in (0, 1)] for k in own}

    def _graphs(self, built, active, skip, row, repetitions):
        replays = {}
        for name, contender in active.items():
            if f"{name} in a graph" in row["errors"] or f"{name}@graph" in skip:
                continue
            graph, ok = self._attempt(name, "graph", lambda: captured(contender.call), row["errors"])
            if ok:
                replays[name] = graph
        built.fresh()
        exact = built.reference()
        for name in list(replays):
            if not self._check(active[name], name, "graph", exact, row, replays[name].replay):
                del replays[name]
        del exact
        contenders = {k: _Replay(g.replay, active[k].reset) for k, g in replays.items()}
        if contenders:
            row["graph_us"] = {k: round(v[0], 2) for k, v in self._times(contenders, repetitions, "time graphs").items()}
            parts = {k: row["us"][k] for k in ("gemm", "nccl_alone") if k in row["us"]}
            row["graph"] = derived(row, self.size, parts | _sound(row["graph_us"], row["errors"], " in a graph"))


class _Replay:
    def __init__(self, call, reset):
        self.call, self.reset = call, reset


def _word(case):
    """Tandem's name of the case's type."""
    dtype = case.get("dtype", "bf16")
    return "fp8e4nv" if dtype == "e4m3" else dtype


class _Words:
    """A team's tensor as integers, which every library knows."""

    def __init__(self, tensor):
        kind = f"<i{tensor.itemsize}"
        self.__cuda_array_interface__ = {"version": 3, "shape": tensor.shape, "typestr": kind, "data": (tensor.address, False)}


def _on_team(team, tensor, word):
    """A copy in the team's memory."""
    copy = team.local_empty(tuple(tensor.shape), word)
    torch.as_tensor(_Words(copy), device=tensor.device).view(tensor.dtype).copy_(tensor)
    return copy


def _sound(us, errors, suffix=""):
    """Times of those that gave right results."""
    return {k: v for k, v in us.items() if k not in errors and k + suffix not in errors}


def _finite(error):
    return error if error == error and error != float("inf") else 1e30


def _output(command, directory=None):
    try:
        return subprocess.run(command, capture_output=True, text=True, cwd=directory, timeout=20).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def main(path):
    worker = Worker(json.loads(pathlib.Path(path).read_text()))
    try:
        worker.run()
    except Broken as error:
        worker.progress.tell("broken", error=str(error))
        os._exit(BROKEN)
    worker.progress.tell("done")
    guard = threading.Timer(15, os._exit, (0,))  # results are written; leaving must not hang
    guard.daemon = True
    guard.start()
    torch.cuda.synchronize()
    worker.agree.all("leaving")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
