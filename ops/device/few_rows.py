"""Channels of few rows, which programs bring: A's rows in chunks that one word counts, and rows of sums in packets whose data is their flag
(ops/device/marks.py)."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.marks import take, without_marks
from ops.device.packets import store_elements
from tandem.simt import num_warps, st_vector, tid


@tandem.jit
def rows_from(first, count, m):
    return tl.maximum(tl.minimum(m - first, count), 0)


@tandem.aggregate
class Gathered:
    """Rows of which `ready` counts the chunks that are there: what a Product waits for."""

    ready: tl.tensor
    chunks: tl.tensor

    @tandem.jit
    def await_steps(self, place, end):
        return dl.consume_token(place, dl.wait(self.ready, 1, "sys", "acquire", waitValue=self.chunks, compare="ge"))

    @tandem.jit
    def await_step(self, place, step, begin):
        if step == begin:
            place = self.await_steps(place, step)
        return place


@tandem.aggregate
class RowsChannel:
    """The m rows of k columns of all ranks, `shard_rows` of each, in `rows` of every rank. They come in chunks of `chunk` elements, which a
    rank's `ready` counts; who ends the call puts it back. `begun` holds the call that each rank has begun: before, it may read there."""

    rows: tl.tensor
    ready: tl.tensor
    begun: tl.tensor
    call: tl.tensor
    m: tl.tensor
    k: tl.tensor
    shard_rows: tl.tensor
    ranks: tl.constexpr
    chunk: tl.constexpr

    @tandem.jit
    def elements_of(self, rank):
        return rows_from(rank * self.shard_rows, self.shard_rows, self.m) * self.k

    @tandem.jit
    def send(self, own_ptr):
        """This program's part of the rank's own rows to all ranks. Gives what a product waits for."""
        rank = dl.rank()
        pid = tl.program_id(0)
        programs = tl.num_programs(0)
        dest_ptr = self.rows + (rank * self.shard_rows).to(tl.int64) * self.k
        count = self.elements_of(rank)
        chunks = tl.cdiv(count, self.chunk)
        for chunk in range(pid, chunks, programs):
            at = chunk * self.chunk + tl.arange(0, self.chunk)
            values = tl.load(own_ptr + at, mask=at < count)  # the first are under way while the program waits
            if chunk == pid:
                token = dl.wait(self.begun, self.ranks, "sys", "acquire", waitValue=self.call, compare="ge")
                dest_ptr = dl.consume_token(dest_ptr, token)
            for step in tl.static_range(1, self.ranks + 1):
                tl.store(dl.symm_at(dest_ptr, (rank + step) % self.ranks) + at, values, mask=at < count)
        if pid < chunks:
            for step in tl.static_range(1, self.ranks + 1):
                brought = (chunks - pid + programs - 1) // programs
                dl.notify(self.ready, (rank + step) % self.ranks, signal=brought, sig_op="add", comm_scope="intra_node")
        of_all = 0
        for source in tl.static_range(self.ranks):
            of_all += tl.cdiv(self.elements_of(source), self.chunk)
        return Gathered(self.ready, of_all)


@tandem.aggregate
class PacketsChannel:
    """Sums over the ranks of m rows of n columns, whose parts travel in packets of `elements`: to all ranks, or with `scatter` each row to
    the rank that has it. Packets lie as [rank, row, slot]. Two sets of them are used in turn."""

    packets: tl.tensor
    m: tl.tensor
    n: tl.tensor
    shard_rows: tl.tensor
    ranks: tl.constexpr
    elements: tl.constexpr
    scatter: tl.constexpr

    @tandem.jit
    def push(self, part, first_row, first_column):
        """A tile's part of this rank."""
        rank = dl.rank()
        slots = tl.cdiv(self.n, self.elements)
        across: tl.constexpr = part.shape[1] // self.elements
        with dl.simt_exec_region() as (thread, threads):
            for i in range(thread, tl.minimum(self.m - first_row, part.shape[0]) * across, threads):
                row = i // across
                column = i % across * self.elements
                values = dl.zeros_vector(self.elements, part.dtype)
                for j in tl.static_range(self.elements):
                    values[j] = part[row, column + j]
                packet = without_marks(values)
                row += first_row
                if first_column + column < self.n:
                    in_row = (first_column + column) // self.elements
                    if self.scatter:
                        owner = row // self.shard_rows
                        slot = ((rank - owner) * self.shard_rows + row).to(tl.int64) * slots + in_row
                        st_vector(dl.symm_at(self.packets + 2 * slot, owner), packet, "sys", "relaxed")
                    else:
                        slot = (rank * self.m + row).to(tl.int64) * slots + in_row
                        for step in tl.static_range(1, self.ranks + 1):
                            st_vector(dl.symm_at(self.packets + 2 * slot, (rank + step) % self.ranks), packet, "sys", "relaxed")

    @tandem.jit
    def store(self, c_ptr, dtype: tl.constexpr, ALIGNED: tl.constexpr, POLLS: tl.constexpr):
        """The sums of this rank's rows into C: adds the packets of all ranks in rank order, each thread its own."""
        slots = tl.cdiv(self.n, self.elements)
        rows = rows_from(dl.rank() * self.shard_rows, self.shard_rows, self.m) if self.scatter else self.m
        stride = (self.shard_rows if self.scatter else self.m).to(tl.int64) * slots
        for i in range(tl.program_id(0) * (num_warps() * 32) + tid(0), rows * slots, tl.num_programs(0) * (num_warps() * 32)):
            sources = ()
            for source in tl.static_range(self.ranks):
                sources += (self.packets + 2 * (source * stride + i),)
            packets = take(sources, POLLS)
            total = dl.zeros_vector(self.elements, tl.float32)
            for source in tl.static_range(self.ranks):
                total = total + packets[source].recast(dtype).to(tl.float32)
            row = i // slots
            first = row.to(tl.int64) * self.n
            values = total.to(c_ptr.dtype.element_ty)
            store_elements(c_ptr, first + (i - row * slots) * self.elements, first + self.n, values, self.elements, ALIGNED)
