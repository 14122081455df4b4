"""Calls of a team's barriers and collectives by two groups of one rank, in another order, with other arguments. Each is found under every
seed: `test_collectives.py`."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair
from tandem.simt import __syncthreads, tid

N = 32


def data(team, name="x", count=N):
    return team.zeros(count, "int32", name=name)


@tandem.jit
def meet_in_programs(FIXED: tl.constexpr):
    if tl.program_id(0) == 0 or not FIXED:
        shmem.barrier_all_block()  # <-- two_programs


@pair("collective-mismatch", "M12")
def two_programs(team, fixed):
    meet_in_programs[(2,)](fixed)


@tandem.jit
def meet():
    shmem.sync_all_block()  # <-- two_streams


@pair("collective-mismatch", "M12")
def two_streams(team, fixed):
    other = team.new_stream()
    meet[(1,)]()
    if fixed:
        other.wait_event(team.stream.record_event())
    meet[(1,)](stream=other)


@pair("collective-mismatch", "M12")
def barriers_of_two_streams(team, fixed):
    other = team.new_stream()
    team.stream.barrier()  # <-- barriers_of_two_streams
    if fixed:
        other.wait_event(team.stream.record_event())
    other.barrier()  # <-- barriers_of_two_streams


@tandem.jit
def meet_in_warps(FIXED: tl.constexpr):
    if tid(0) // 32 == 0:
        shmem.barrier_all_warp()  # <-- two_warps
    if FIXED:
        __syncthreads()
    if tid(0) // 32 == 1:
        shmem.barrier_all_warp()  # <-- two_warps


@pair("collective-mismatch", "M12")
def two_warps(team, fixed):
    meet_in_warps[(1,)](fixed)


@tandem.jit
def meet_in_threads(THREADS: tl.constexpr):
    if tid(0) < THREADS:
        shmem.barrier_all()  # <-- each_thread_for_itself


@pair("collective-mismatch", None)
def each_thread_for_itself(team, fixed):
    meet_in_threads[(1,)](1 if fixed else 32)


@tandem.jit
def meet_by_turns(turn_ptr, SEM: tl.constexpr):
    """The second program calls when the first has said that it has returned."""
    if tl.program_id(0) == 0:
        shmem.barrier_all_block()  # <-- by_turns
        tl.atomic_xchg(turn_ptr, 1, sem=SEM, scope="gpu")
    else:
        while tl.atomic_add(turn_ptr, 0, sem="acquire", scope="gpu") != 1:
            pass
        shmem.barrier_all_block()  # <-- by_turns


@pair("collective-mismatch", "M12")
def by_turns(team, fixed):
    meet_by_turns[(2,)](data(team, count=1), "release" if fixed else "relaxed")


@tandem.jit
def collect_or_meet(x_ptr, y_ptr, team, other, N: tl.constexpr):
    if tl.program_id(0) == 0:
        shmem.fcollect_block(team, y_ptr, x_ptr, N)  # <-- collective_and_barrier
    else:
        shmem.team_sync_block(other)  # <-- collective_and_barrier


@pair("collective-mismatch", None)
def collective_and_barrier(team, fixed):
    """Two teams of the same members have each its own state."""
    one, two = team.split(range(team.size)), team.split(range(team.size))
    collect_or_meet[(2,)](data(team), data(team, "y", team.size * N), one.id, two.id if fixed else one.id, N)


@tandem.jit
def gather_typed(x_ptr, y_ptr, N: tl.constexpr):
    shmem.fcollect_block(0, y_ptr, x_ptr, N)  # <-- types_differ


@tandem.jit
def gather_signed(x_ptr, y_ptr, N: tl.constexpr):
    shmem.fcollect_block(0, y_ptr, x_ptr, N)  # <-- signs_differ


@pair("collective-mismatch", None)
def types_differ(team, fixed):
    dtype = "int32" if fixed or team.rank else "float32"
    gather_typed[(1,)](team.zeros(N, dtype, name="x"), team.zeros(team.size * N, dtype, name="y"), N)


@pair("collective-mismatch", None)
def signs_differ(team, fixed):
    dtype = "uint32" if fixed or team.rank else "int32"
    gather_signed[(1,)](team.zeros(N, dtype, name="x"), team.zeros(team.size * N, dtype, name="y"), N)


@tandem.jit
def gather_without_the_last(x_ptr, y_ptr, n, ABSENT: tl.constexpr):
    if dl.rank() != dl.num_ranks() - 1 or not ABSENT:
        shmem.fcollectmem_block(0, y_ptr, x_ptr, n)  # <-- sizes_differ_and_one_is_absent


@pair("collective-mismatch", None, ranks=(3, 4))
def sizes_differ_and_one_is_absent(team, fixed):
    n = 4 * N if fixed or team.rank else 2 * N
    gather_without_the_last[(1,)](data(team), data(team, "y", team.size * N), n, not fixed)


@tandem.jit
def meet_or_gather(x_ptr, y_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    if dl.rank() == 0 and not FIXED:
        shmem.barrier_all_block()  # <-- barrier_for_a_collective
        shmem.fcollect_block(0, y_ptr, x_ptr, N)
    else:
        shmem.fcollect_block(0, y_ptr, x_ptr, N)  # <-- barrier_for_a_collective
        shmem.barrier_all_block()


@pair("collective-mismatch", None)
def barrier_for_a_collective(team, fixed):
    meet_or_gather[(1,)](data(team), data(team, "y", team.size * N), N, fixed)


@tandem.jit
def meet_teams(one, two, TURNED: tl.constexpr):
    shmem.barrier_block(two if TURNED else one)  # <-- teams_in_another_order
    shmem.barrier_block(one if TURNED else two)


@pair("deadlock", None)
def teams_in_another_order(team, fixed):
    one, two = team.split(range(team.size)), team.split(range(team.size))
    meet_teams[(1,)](one.id, two.id, team.rank == 0 and not fixed)
