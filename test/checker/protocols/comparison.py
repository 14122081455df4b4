"""Compares the checker's seeds with the oracle on one random program."""

import dataclasses
import random

from kernel import found_by_checker
from mutations import EXTENTS, Mutation, mutate, mutations
from oracle import UNKNOWN, Oracle
from patterns import generate
from program import Program

RUNS = 4  # of the checker, each under a seed and policy of its own
MORE = 40  # runs at most where the first ones show nothing: who takes a lock first is the schedule's choice
PATHS = 2  # of the oracle in a large program
OPERATIONS = 1000  # of a large program, at most
POLICIES = ("random", "round-robin", "priority", "slowest-rank")


@dataclasses.dataclass(frozen=True)
class Case:
    """`small`: every schedule of it can be tried. `program`: what the checker runs, of the same patterns with the same change, as large or
    larger."""

    seed: int
    small: Program
    program: Program
    mutation: Mutation | None
    seeds: tuple


@dataclasses.dataclass(frozen=True)
class Result:
    case: Case
    verdict: str | None  # the oracle's; None: right
    found: tuple  # of each run, the kinds that were reported

    @property
    def is_judged(self):
        return self.verdict != UNKNOWN

    @property
    def is_wrong(self):
        return self.verdict is not None

    @property
    def hits(self):
        return sum(map(bool, self.found))

    @property
    def disagrees(self):
        return self.is_judged and (self.is_wrong != bool(self.hits) or (self.is_wrong and self.case.mutation is None))

    def __str__(self):
        kinds = sorted(set().union(*self.found))
        return (
            f"seed {self.case.seed}: {self.case.program.name}: oracle {self.verdict or 'right'}; "
            f"checker {', '.join(kinds) or 'silent'} in {self.hits} of {len(self.found)} runs"
        )


def _sizes(rng):
    """(ranks, programs, rounds) of the small and of the run program."""
    small = rng.choice([2, 2, 3]), rng.choice([1, 2]), rng.choice([1, 2, 3])
    if rng.random() < 0.75:
        return small, small
    return small, (rng.choice([small[0], 4, 5, 8]), rng.choice([small[1], 3, 8, 17, 33, 64]), rng.choice([small[2], 5, 18, 40]))


def _length(program):
    return sum(len(thread) for rank in program.threads for thread in rank)


def draw(seed):
    """The case of a seed: three of four have a change."""
    rng = random.Random(seed)
    size, run_size = _sizes(rng)
    small = generate(seed, *size)
    program = small if run_size == size else generate(seed, *run_size)
    if _length(program) > OPERATIONS:
        program = small
    mutation = None
    if rng.random() < 0.75:
        mutation = Mutation(*rng.choice(mutations(small)), rng.choice(EXTENTS))
        changed = mutate(small, mutation)
        small, program = changed, changed if program is small else mutate(program, mutation)
    return Case(seed, small, program, mutation, tuple(rng.randrange(1000) for _ in range(RUNS)))


def verdict_of(case):
    """Returns the oracle's verdict on a small program. A larger one is judged by its change: it is right if nothing has been changed."""
    if case.program is case.small:
        return Oracle(case.program).verdict()
    sampled = Oracle(case.program).sampled(random.Random(case.seed), PATHS)
    return sampled or (UNKNOWN if case.mutation else None)


def compare(seed):
    case = draw(seed)
    verdict, found = verdict_of(case), []
    for k, run in enumerate((*case.seeds, *range(1000, 1000 + MORE))):
        if k >= RUNS and (verdict in (None, UNKNOWN) or any(found)):
            break
        found.append(frozenset(r["kind"] for r in found_by_checker(case.program, run, POLICIES[k % len(POLICIES)])))
    return Result(case, verdict, tuple(found))


def tally(results):
    judged = [r for r in results if r.is_judged]
    wrong, right = [r for r in judged if r.is_wrong], [r for r in judged if not r.is_wrong]
    return {
        "programs": len(results),
        "judged": len(judged),
        "wrong": len(wrong),
        "found": sum(r.hits > 0 for r in wrong),
        "found in every run": sum(r.hits == len(r.found) for r in wrong),
        "right": len(right),
        "reported though right": sum(r.hits > 0 for r in right),
        "disagreements": sum(r.disagrees for r in results),
    }
