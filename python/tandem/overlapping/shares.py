"""How the rows of a matrix are divided: a share for each rank, and chunks of a share, which travel one by one."""

LEAST_BYTES = 2048  # of a row of a slice: copies of narrower columns are much slower


class Shares:
    """`matrix` has `share` rows for each rank; the last ranks may have fewer. A share has `bands` chunks of `rows` rows: at most as many
    as are wanted, and so many that they divide the share. A chunk travels in `slices` slices of its columns, as wide as each other but for
    the last: at most as many as are wanted, and of a matrix with rows of LEAST_BYTES or more."""

    def __init__(self, matrix, ranks, bands, slices=1):
        self.height, self.ranks = matrix.shape[0], ranks
        self.share = -(-self.height // ranks)
        self.bands = max(b for b in range(1, max(min(bands, self.share), 1) + 1) if self.share % b == 0)
        self.rows = self.share // self.bands
        self.row_elements = matrix.numel() // max(self.height, 1)
        self.elements = max(self.rows * self.row_elements, 1)  # of a chunk
        columns = -(-self.row_elements // slices)
        self.columns = -(-columns * matrix.itemsize // LEAST_BYTES) * LEAST_BYTES // matrix.itemsize if slices > 1 else self.row_elements
        self.slices = -(-self.row_elements // max(self.columns, 1)) or 1
        self.words = ranks * self.bands
        self.chunks = -(-self.height // max(self.rows, 1))  # with rows in them

    def chunks_of(self, rank):
        """The numbers of a rank's chunks that have rows."""
        first = rank * self.bands
        return range(first, max(min(first + self.bands, self.chunks), first))

    def telling_of(self, rank):
        """The numbers by which a rank tells of its chunks: one where there are no rows, so that each call of a rank is heard of."""
        chunks = self.chunks_of(rank)
        return chunks or range(chunks.start, chunks.start + 1)

    @property
    def arriving(self):
        """What a consumer is told of them: a chunk's elements, how many chunks have rows, and the slices, if there are some."""
        slices = {"arriving_row": self.row_elements, "arriving_slice": self.columns} if self.slices > 1 else {}
        return {"arriving_chunk": self.elements, "arriving_chunks": self.chunks, **slices}

    def part(self, matrix, chunk):
        """A chunk of a matrix of these rows."""
        return matrix[chunk * self.rows : min((chunk + 1) * self.rows, self.height)]

    def part_of(self, matrix, rank):
        """A rank's rows of a matrix of these."""
        return matrix[min(rank * self.share, self.height) : min((rank + 1) * self.share, self.height)]
