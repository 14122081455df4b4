"""Channels whose rows copies on the peers' streams bring, while one kernel uses those that are there."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from tandem.simt import __syncthreads, num_warps, tid


@tandem.aggregate
class StreamChannel:
    """A channel whose rows the peers' hosts bring by copies on streams (`rank_copy_slices`), each shard in `bands` of `band_rows` rows, a
    band in slices of its columns. The word of a band, `words[shard * bands + band]`, counts the slices that are there, and the kernel puts
    it back at the end of its call: every value is a constant, so a captured call replays as it is. Ahead of these words are others
    (`stream_words`): how many programs have ended the call, how many calls this rank has ended, and for each rank how many that one has."""

    words: tl.tensor
    bands: tl.tensor
    band_rows: tl.tensor


@tandem.jit
def slices_wait(channel, shard, row, slices):
    """Waits until so many slices of the shard's band of this row are there."""
    word = channel.words + shard * channel.bands + row // channel.band_rows
    return dl.wait(word, 1, "sys", "acquire", waitValue=slices, compare="ge")


@tandem.aggregate
class ShardRows:
    """Rows of a shard that come by a StreamChannel, from `row` of the shard on, all in one band, as a loop over steps reads them:
    `slice_steps` steps of columns are a slice. This rank's own shard is there."""

    channel: StreamChannel
    shard: tl.tensor
    row: tl.tensor
    slice_steps: tl.constexpr

    @tandem.jit
    def await_step(self, place, step, begin):
        """`place`, which leads to the rows, once what this step reads is there, in a loop that begins with the step `begin`."""
        if (self.shard != dl.rank()) & ((step == begin) | (step % self.slice_steps == 0)):
            place = dl.consume_token(place, slices_wait(self.channel, self.shard, self.row, step // self.slice_steps + 1))
        return place

    @tandem.jit
    def await_steps(self, place, end):
        """`place` once what all steps up to `end` read is there."""
        if self.shard != dl.rank():
            place = dl.consume_token(place, slices_wait(self.channel, self.shard, self.row, tl.cdiv(end, self.slice_steps)))
        return place


@tandem.jit
def call_ends(channel, programs):
    """True in the last of `programs` programs, which then says `end_call`. All threads of a program come here, behind all of its waits."""
    __syncthreads()
    ends = tl.atomic_add(channel.words - 1, 1, sem="acq_rel", scope="gpu") == programs - 1
    if ends:
        tl.store(channel.words - 1, 0)
        __syncthreads()
    return ends


@tandem.jit
def end_call(channel, slices):
    """Puts the words back once all of the call has arrived, `slices` of each band, and when all has, waits until every rank has done so.
    Each thread for its peers."""
    rank = dl.rank()
    call = tl.load(channel.words - 2) + 1
    done = channel.words - 2 - dl.num_ranks()
    for peer in range(tid(0), dl.num_ranks(), num_warps() * 32):
        if peer != rank:
            for band in range(peer * channel.bands, (peer + 1) * channel.bands):
                shmem.signal_wait_until(channel.words + band, shmem.NVSHMEM_CMP_EQ, slices)
                shmem.signal_op(channel.words + band, 0, shmem.NVSHMEM_SIGNAL_SET, rank)
    __syncthreads()
    for peer in range(tid(0), dl.num_ranks(), num_warps() * 32):
        if peer != rank:
            shmem.fence()
            shmem.signal_op(done + rank, call, shmem.NVSHMEM_SIGNAL_SET, peer)
            shmem.signal_wait_until(done + peer, shmem.NVSHMEM_CMP_GE, call)
    tl.store(channel.words - 2, call)


def stream_words(team, bands):
    """The words of a StreamChannel whose shards have so many bands."""
    before = team.size + 2
    return team.zeros(before + team.size * bands, "int64", name="words of a channel")[before:]


def rank_copy_slices(team, stream, matrix, words, m, shard_rows, bands, band_rows, slices, step=1):
    """A rank's own rows of a symmetric `matrix` to all peers by `stream`, in so many slices of each band, the ring's next one first. Slices
    are whole steps of `step` columns, as the kernel's loop goes through them; the last ones may have none. The stream waits ahead of it for
    what has written the rows; the kernel that waits for the slices may be queued before or behind."""
    width = matrix.numel() // max(matrix.shape[0], 1)
    columns = -(-width // (slices * step)) * step
    own, rows = team.rank * shard_rows, max(min(m - team.rank * shard_rows, shard_rows), 0)
    for distance in range(1, team.size):
        peer = (team.rank - distance) % team.size
        for band in range(bands):
            part = slice(own + min(band * band_rows, rows), own + min((band + 1) * band_rows, rows))
            for nth in range(slices):
                first = min(nth * columns, width)
                if part.start < part.stop and first < width:
                    stream.copy_columns(matrix.peer(peer)[part], matrix[part], first, min(columns, width - first))
                word = team.rank * bands + band
                stream.signal_write(words.peer(peer)[word : word + 1], nth + 1)
