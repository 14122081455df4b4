"""Collectives (tandem/collectives.h) and GEMM + AllReduce for NumPy arrays and tensors of a team."""

import json
import math

from .. import _tandem
from ..arrays import Tensor, as_dtype, type_word
from . import _NUMBER, _contiguous, _Operator, _rows_of, _shape_of, _stream_of

# The kernel language's words, which NumPy reads otherwise: its "i8" has 8 bytes.
_INTEGERS = {f"{letter}{bits}": f"{kind}{bits}" for letter, kind in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)}
_WAYS = ("auto", "one_shot", "two_shot_words", "two_shot")


def all_reduce_way(bytes, ranks):
    """The way that `AllReduce` takes when it may choose: one_shot, two_shot_words or two_shot."""
    return _WAYS[_tandem.all_reduce_way(bytes, ranks)]


class _Collective:
    """Shared by the collectives. Creation and closing are collective; `config` is the same on all ranks."""

    def __init__(self, team, dtype, *sizes, **config):
        if len(team.members) != team._session.ranks:
            raise ValueError("operators run on the whole world's team")
        self.team, self._type = team, as_dtype(_INTEGERS.get(dtype, dtype))
        self.dtype = type_word(self._type)
        self._op = team._call(self._create, *sizes, _NUMBER[self.dtype], json.dumps(config))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _run(self, stream, x, out, *words):
        stream = _stream_of(self.team, stream)
        source = x if isinstance(x, Tensor) else self.team.local_from_array(x, name="host array")
        self.team._call(lambda *_: self._launch(self._op, stream.index, source.address, out.address, *words))
        if source is not x:
            self.team._call(_tandem.release_async, stream.index, source.address)
        return out

    def _checked(self, name, array, shape):
        if _shape_of(array, name) != tuple(shape):
            raise ValueError(f"`{name}` has shape {list(array.shape)}, {list(shape)} is needed")
        if type_word(array.dtype) != self.dtype:
            raise TypeError(f"`{name}` is {type_word(array.dtype)}, the operator was made for {self.dtype}")
        return _contiguous(array, name)

    def _output(self, out, shape, name):
        if out is None:
            return self.team.local_empty(shape, self._type, name=name)
        if not isinstance(out, Tensor):
            raise TypeError(f"`out` must be a tensor of the team, not `{type(out).__name__}`")
        return self._checked("out", out, shape)

    def close(self):
        """Gives the operator's symmetric memory back [collective]."""
        self.team._session.guarded(lambda _: self._close(self._op))


class AllReduce(_Collective):
    """out = sum of every rank's x; fp16, bf16 or fp32, of up to max_elements elements.

    `way` overrides the choice by size (`all_reduce_way`). `config`: programs, num_warps, chunk_bytes (tandem/collectives.h).
    """

    _create = staticmethod(_tandem.all_reduce_create)
    _launch = staticmethod(_tandem.all_reduce_run)
    _close = staticmethod(_tandem.all_reduce_close)

    def __init__(self, team, max_elements, dtype, way="auto", **config):
        if way not in _WAYS:
            raise ValueError(f"`way` is {way!r}, one of {', '.join(_WAYS)} is needed")
        self.max_elements = max_elements
        super().__init__(team, dtype, max_elements, way=_WAYS.index(way), **config)

    def __call__(self, x, out=None, stream=None, symmetric_out=False):
        """Returns out, queued on the stream; out may be x. `symmetric_out`: out is the same symmetric tensor on every rank."""
        x = self._checked("x", x, _shape_of(x, "x"))
        out = self._output(out, tuple(x.shape), "all_reduce out")
        return self._run(stream, x, out, math.prod(x.shape), int(symmetric_out))


class _OfRows(_Collective):
    """Rows are dealt to the ranks as `rows_of_rank` tells."""

    def __init__(self, team, max_m, columns, dtype, **config):
        self.max_m, self.columns = max_m, columns
        super().__init__(team, dtype, max_m, columns, **config)

    def _rows(self, m):
        return _rows_of(self.team, m, self.max_m)


class ReduceScatter(_OfRows):
    """out[rows_of_rank(m), columns] = this rank's rows of the sum of every rank's x[m, columns].

    `config`: programs, num_warps, chunk_bytes (tandem/collectives.h).
    """

    _create = staticmethod(_tandem.reduce_scatter_create)
    _launch = staticmethod(_tandem.reduce_scatter_run)
    _close = staticmethod(_tandem.reduce_scatter_close)

    def __call__(self, x, m, out=None, stream=None):
        rows = self._rows(m)
        x = self._checked("x", x, (m, self.columns))
        return self._run(stream, x, self._output(out, (rows, self.columns), "reduce_scatter out"), m)


class AllGather(_OfRows):
    """out[m, columns] = the rows x[rows_of_rank(m), columns] of all ranks, of any element type.

    `config`: programs, num_warps, words_bytes (tandem/collectives.h).
    """

    _create = staticmethod(_tandem.all_gather_create)
    _launch = staticmethod(_tandem.all_gather_run)
    _close = staticmethod(_tandem.all_gather_close)

    def __call__(self, x, m, out=None, stream=None, symmetric_out=False):
        """Returns out, queued on the stream. `symmetric_out`: out is the same symmetric tensor on every rank."""
        x = self._checked("x", x, (self._rows(m), self.columns))
        return self._run(stream, x, self._output(out, (m, self.columns), "all_gather out"), m, int(symmetric_out))


class GemmAllReduce(_Operator):
    """C[m, n] = sum over ranks of A[m, k] @ B[k, n] on every rank, k being this rank's share: for few rows.

    `config`: block_m, block_n, block_k, programs, num_warps, num_stages, b_transposed, splits, one_shot_bytes,
    words_bytes (tandem/ops.h).
    """

    _create = staticmethod(_tandem.gemm_ar_create)
    _launch = staticmethod(_tandem.gemm_ar_run)
    _close = staticmethod(_tandem.gemm_ar_close)

    def __call__(self, a, b, m, out=None, stream=None):
        """a: [m, k], b: [k, n] (b_transposed: [n, k]). Returns out: [m, n], queued on the stream."""
        self._rows(m)
        a, b = self._input("a", a, (m, self.k)), self._input("b", b, self.b_shape)
        return self._run(stream, a, b, self._output(out, (m, self.n), "gemm_ar out"), m)
