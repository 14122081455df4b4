"""What each operation takes and gives, as shapes. Works on symbolic sizes too."""

import dataclasses

import torch


def shard_rows(m, ranks):
    return (m + ranks - 1) // ranks


def rows_of_rank(m, rank, ranks):
    """Rows of rank's shard of m rows: cdiv(m, ranks), fewer or none on the last ranks."""
    shard = shard_rows(m, ranks)
    return torch.sym_min(torch.sym_max(m - rank * shard, 0), shard)


@dataclasses.dataclass(frozen=True)
class Operation:
    """`gathers`: the input is a shard of rows; `scatters`: the output is. `multiplies`: there is a second operand `b`."""
    name: str
    multiplies: bool
    gathers: bool
    scatters: bool

    def rows(self, given, m, ranks):
        """Rows over all ranks. `given`: the input's; where they are a shard's and nobody says `m`, all shards are alike."""
        if not self.gathers:
            return given
        return given * ranks if m is None else m

    def input_shape(self, m, n, k, rank, ranks):
        return (rows_of_rank(m, rank, ranks) if self.gathers else m, k if self.multiplies else n)

    def output_shape(self, shape, n, m, rank, ranks):
        """From the input's shape; n: columns of b."""
        rows = self.rows(shape[0], m, ranks)
        return (rows_of_rank(rows, rank, ranks) if self.scatters else rows, *((n,) if self.multiplies else shape[1:]))


OPERATIONS: dict[str, Operation] = {o.name: o for o in (
    Operation("ag_gemm", multiplies=True, gathers=True, scatters=False),
    Operation("gemm_rs", multiplies=True, gathers=False, scatters=True),
    Operation("gemm_ar", multiplies=True, gathers=False, scatters=False),
    Operation("all_gather", multiplies=False, gathers=True, scatters=False),
    Operation("reduce_scatter", multiplies=False, gathers=False, scatters=True),
    Operation("all_reduce", multiplies=False, gathers=False, scatters=False),
)}
