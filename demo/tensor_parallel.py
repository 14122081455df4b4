"""The MLPs on N ranks: AllGather + GEMM, bias and GELU, GEMM + ReduceScatter, each product overlapping with its communication."""

import numpy as np

import tandem
import tandem.language as tl
from tandem.kernel.element_types import as_dtype
from tandem.ops import AllGatherGemm, GemmReduceScatter, rows_of_rank, shard_rows

# Tiles are small and programs few: the sentences are short, and a program should have several tiles to overlap with
# arriving data.
TILES = {"block_m": 16, "block_n": 64, "block_k": 64, "programs": 12}


@tandem.jit
def bias_gelu(x_ptr, bias_ptr, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < columns
    x = tl.load(x_ptr + row * columns + column, mask=mask).to(tl.float32)
    x += tl.load(bias_ptr + column, mask=mask).to(tl.float32)
    y = x * 0.5 * (1 + tl.erf(x * 0.7071067811865476))
    tl.store(x_ptr + row * columns + column, y.to(x_ptr.dtype.element_ty), mask=mask)


class ParallelMLP:
    """All layers' MLPs on one rank: columns of the first weight and rows of the second."""

    def __init__(self, team, model, layers, rows, dtype):
        self.team, self.rows, self.dtype = team, rows, dtype
        hidden, inner = model.layer(0, "intermediate.dense")[0].shape[::-1]
        share = inner // team.size
        mine = slice(team.rank * share, (team.rank + 1) * share)
        self.share = share
        self.up, self.bias, self.down = [], [], []
        for i in range(layers):
            weight, bias = model.layer(i, "intermediate.dense")
            self.up.append(self.local(weight[mine].T, f"up {i}"))
            self.bias.append(self.local(bias[mine], f"bias {i}"))
            self.down.append(self.local(model.layer(i, "output.dense")[0][:, mine].T, f"down {i}"))
        self.ag_gemm = AllGatherGemm(team, rows, share, hidden, dtype, **TILES)
        self.gemm_rs = GemmReduceScatter(team, rows, hidden, share, dtype, **TILES)
        # Host memory that all ranks see here; ranks on several hosts would gather.
        self.mine = slice(
            team.rank * shard_rows(rows, team.size), team.rank * shard_rows(rows, team.size) + rows_of_rank(rows, team.size, team.rank)
        )

    def local(self, array, name):
        return self.team.local_from_array(np.ascontiguousarray(array).astype(as_dtype(self.dtype)), name)

    def __call__(self, layer, x, gathered):
        """x: this host's copy of all rows. Writes this rank's rows of the product into `gathered` and waits for the others'."""
        shard = self.local(x[self.mine], "x shard")
        h = self.ag_gemm(shard, self.up[layer], self.rows)
        bias_gelu[(self.rows, tandem.cdiv(self.share, 128))](h, self.bias[layer], self.rows, self.share, BLOCK=128)
        gathered[self.mine] = np.asarray(self.gemm_rs(h, self.down[layer], self.rows)).astype(np.float32)
        self.team.barrier()
        return gathered

    def close(self):
        self.ag_gemm.close()
        self.gemm_rs.close()


def embed(model, sentences, ranks, dtype="fp16", seed=0):
    """The sentences' embeddings with the MLPs on `ranks` simulated ranks, and the run's Result."""
    rows = sum(map(len, model.tokenize(sentences)))
    gathered = [np.empty((rows, 384), np.float32) for _ in range(6)]

    def main(team):
        mlp = ParallelMLP(team, model, 6, rows, dtype)
        out = model.run(sentences, lambda layer, x: mlp(layer, x, gathered[layer]))
        mlp.close()
        return out

    result = tandem.launch(main, ranks=ranks, seed=seed, trace=True)
    return result.values[0], result
