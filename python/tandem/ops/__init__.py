"""Overlapping operators (tandem/ops.h) for NumPy arrays and tensors of a team."""

import json

from .. import _tandem
from ..arrays import Tensor, type_word

_NUMBER = {word: i for i, word in enumerate("i1 i8 i16 i32 i64 u8 u16 u32 u64 fp8e4nv fp8e5 fp16 bf16 fp32 fp64".split())}


def shard_rows(m, ranks):
    """Rows of a shard when m rows are dealt to the ranks; the last ranks may hold fewer."""
    return -(-m // ranks)


def rows_of_rank(m, ranks, rank):
    shard = shard_rows(m, ranks)
    return min(max(m - rank * shard, 0), shard)


def _device(team, array, name):
    if isinstance(array, Tensor):
        if not array.is_contiguous():
            raise ValueError(f"`{name}` must be contiguous")
        return array
    return team.local_from_array(array, name=name)


class _Operator:
    """Shared by the operators: creation and closing are collective; `config` has block_m, block_n, block_k, programs, num_warps."""

    def __init__(self, team, max_m, n, k, dtype, **config):
        if len(team.members) != team._session.ranks:
            raise ValueError("operators run on the whole world's team")
        self.team, self.n, self.k = team, n, k
        self.dtype = dtype
        self._op = team._call(self._create, max_m, n, k, _NUMBER[dtype], json.dumps(config))

    def _check(self, name, tensor, shape):
        if tuple(tensor.shape) != shape:
            raise ValueError(f"`{name}` has shape {list(tensor.shape)}, {list(shape)} is needed")
        return tensor.address

    def _run(self, stream, *args):
        stream = stream or self.team.stream
        try:
            self._launch(self._op, stream.index, *args)
        except RuntimeError:
            self.team._session.check()
            raise

    def close(self):
        """Gives the operator's symmetric memory back [collective]."""
        self.team._session.guarded(lambda _: self._close(self._op))


class AllGatherGemm(_Operator):
    """C[m, n] = gather(A)[m, k] @ B[k, n]; A is sharded by rows over the ranks."""

    _create, _launch, _close = staticmethod(_tandem.ag_gemm_create), staticmethod(_tandem.ag_gemm_run), staticmethod(_tandem.ag_gemm_close)

    def __call__(self, a, b, m, out=None, stream=None):
        """a: [rows_of_rank(m), k], b: [k, n]. Returns out: [m, n], queued on the stream."""
        a, b = _device(self.team, a, "a"), _device(self.team, b, "b")
        out = out if out is not None else self.team.local_empty((m, self.n), a.dtype, name="ag_gemm out")
        rows = rows_of_rank(m, self.team.size, self.team.rank)
        self._run(stream, self._check("a", a, (rows, self.k)), self._check("b", b, (self.k, self.n)), self._check("out", out, (m, self.n)), m,
                  _NUMBER[type_word(out.dtype)])
        return out


class GemmReduceScatter(_Operator):
    """out[rows_of_rank(m), n] = this rank's rows of the sum over ranks of A[m, k] @ B[k, n]."""

    _create, _launch, _close = staticmethod(_tandem.gemm_rs_create), staticmethod(_tandem.gemm_rs_run), staticmethod(_tandem.gemm_rs_close)

    def __call__(self, a, b, m, out=None, stream=None):
        """a: [m, k], b: [k, n], k being this rank's share. Returns out, queued on the stream."""
        a, b = _device(self.team, a, "a"), _device(self.team, b, "b")
        rows = rows_of_rank(m, self.team.size, self.team.rank)
        out = out if out is not None else self.team.local_empty((rows, self.n), a.dtype, name="gemm_rs out")
        self._run(stream, self._check("a", a, (m, self.k)), self._check("b", b, (self.k, self.n)), self._check("out", out, (rows, self.n)), m,
                  _NUMBER[type_word(out.dtype)])
        return out


__all__ = ["AllGatherGemm", "GemmReduceScatter", "rows_of_rank", "shard_rows"]
