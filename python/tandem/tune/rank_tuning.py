"""The search among the ranks of a run on GPUs: all of them time the same configurations, and the slowest rank's time counts."""

import math
import statistics

import numpy as np

from ..errors import AutotunerError, CompileError, OutOfResources
from ..gpu.rank_launch import stream_of
from .rank_clock import RankClock


def choose_together(tuner, team, args, kwargs):
    """The configuration of a call that all ranks of the team make, with the same key. Ranks that are threads share `tuner`: each has its
    own place in `team_cache`."""
    named = {name: value for name, value in {**tuner.nargs, **kwargs}.items() if name in tuner.arg_names}
    key = tuner.key_of(named)
    place = (team.device, *key, team.size)
    found = tuner.team_cache.get(place)
    if found is None:
        tuner.refuse_clash(kwargs)
        place_on_disk = (*key, team.size)
        saved = tuner.saved_for(team.device, place_on_disk) if team.rank == 0 else None
        first = team.gather(None if saved is None else tuner.configs.index(saved))[0]
        found = _Search(tuner, team, args, kwargs, named).run(place_on_disk) if first is None else tuner.configs[first]
        tuner.team_cache[place] = found
    return found


class _Search:
    """Every rank launches as often as the others: kernels may wait for each other."""

    def __init__(self, tuner, team, args, kwargs, named):
        self.tuner, self.team, self.args, self.kwargs, self.named = tuner, team, args, kwargs, named

    def run(self, key):
        tuner, team = self.tuner, self.team
        candidates = tuner.prune_configs(self.kwargs)
        left = team.gather([str(c) for c in candidates])
        if left.count(left[0]) != len(left):
            raise ValueError(f"the ranks prune the configurations of kernel `{tuner.__name__}` differently")
        with RankClock(team, stream_of(team, self.kwargs.get("stream"), self.named.values())) as clock:
            timings = {c: max(team.gather(self._time(clock, c))) for c in candidates}
        best = min(candidates, key=timings.get)
        if not math.isfinite(timings[best]):
            raise AutotunerError(f"none of the {len(candidates)} configurations of kernel `{tuner.__name__}` compiles and fits the GPU")
        tuner.pre_hook({**tuner.nargs, **self.kwargs, **best.all_kwargs()}, reset_only=True)
        if team.rank == 0:
            tuner.configs_timings = timings
            tuner.keep(team.device, key, best)
        return best

    def _time(self, clock, config):
        """Milliseconds of one call; infinite where a rank cannot launch it."""
        tuner = self.tuner
        call = lambda *_: tuner.launch_once(config, self.args, self.kwargs)
        try:
            call()
            failed = False
        except (OutOfResources, CompileError):
            failed = True
        if any(clock.team.gather(failed)):
            return math.inf
        clock.team.barrier()
        if tuner._do_bench:
            timing = tuner._do_bench(call, quantiles=(0.5, 0.2, 0.8))
            return timing[0] if isinstance(timing, (tuple, list)) else timing
        waits = self._call_waits(config)
        if waits and tuner.use_cuda_graph:
            raise ValueError(
                f"`use_cuda_graph` of kernel `{tuner.__name__}`: a call with hooks or arrays of the host waits for its "
                "stream, so no graph can hold it"
            )
        return self._time_batches(clock, call, holds=not waits)

    def _time_batches(self, clock, call, holds, calls=10):
        """Batches for `warmup` milliseconds, then for `rep`, whose median counts; as many on all ranks. A stream that is held has no room
        for more calls than a batch has."""
        warmup, rep = self.tuner.num_warmups, self.tuner.num_reps
        batch = lambda: clock.microseconds(call, calls, holds=holds) / 1e3
        first = batch()
        if warmup is None and rep is None:
            return first
        slowest = max(*clock.team.gather(first), 1e-3) * calls
        for _ in range(math.ceil((warmup or 0) / slowest) - 1):
            batch()
        return statistics.median(batch() for _ in range(max(1, math.ceil((rep or 0) / slowest))))

    def _call_waits(self, config):
        """Returns true if a call may wait for its stream, as hooks and arrays of the host do."""
        tuner = self.tuner
        hooks = (tuner.reset_to_zero, tuner.restore_value, tuner.user_defined_pre_hook, tuner.user_defined_post_hook, config.pre_hook)
        return any(hooks) or any(isinstance(value, np.ndarray) for value in self.named.values())
