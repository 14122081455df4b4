"""Overlapping operators (tandem/ops.h) for NumPy arrays and tensors of a team."""

import dataclasses
import json
import operator

from .. import _tandem
from ..arrays import Tensor, as_dtype, type_word
from ..machine_profile import VERSION, Profile
from ..team import Stream

_WORDS = "i1 i8 i16 i32 i64 u8 u16 u32 u64 fp8e4nv fp8e5 fp16 bf16 fp32 fp64"  # in the order of tandem::DType
_NUMBER = {word: i for i, word in enumerate(_WORDS.split())}


def shard_rows(m, ranks):
    """Rows of a shard when m rows are dealt to the ranks; the last ranks may hold fewer."""
    return -(-m // ranks)


def rows_of_rank(m, ranks, rank):
    shard = shard_rows(m, ranks)
    return min(max(m - rank * shard, 0), shard)


def _shape_of(array, name):
    if not hasattr(array, "shape") or not hasattr(array, "dtype"):
        raise TypeError(f"`{name}` must be an array or a tensor of the team, not `{type(array).__name__}`")
    return tuple(array.shape)


def _rows_of(team, m, max_m):
    """This rank's rows of m."""
    try:
        m = operator.index(m)
    except TypeError:
        raise TypeError(f"`m` must be an integer, not {m!r}") from None
    if not 1 <= m <= max_m:
        raise ValueError(f"`m` is {m}, the operator was made for 1 to {max_m}")
    return rows_of_rank(m, team.size, team.rank)


def _contiguous(tensor, name):
    if isinstance(tensor, Tensor) and not tensor.is_contiguous():
        raise ValueError(f"`{name}` must be contiguous")
    return tensor


@dataclasses.dataclass(frozen=True)
class Tuned:
    """What `tune` found; times are microseconds of a call on the slowest rank."""

    config: dict      # may be given to another operator
    predicted: float  # by the model
    measured: float   # 0 on simulated ranks, which have no time
    untuned: float    # measured, of what the model would have taken
    tried: int        # 0: it was known


def choices(op, m, n, k, ranks, dtype="bf16", target="sm_90a", programs=132, profile=None, **config):
    """What the model says of all ways to carry out `op` ("ag_gemm" or "gemm_rs") on each of `ranks` ranks, the quickest first: their
    config and predicted microseconds. `profile`: of `tandem doctor --profile`, as a `tandem.Profile` or the file's dict; else
    the defaults."""
    if isinstance(profile, Profile):
        profile = {"version": VERSION, **dataclasses.asdict(profile)}
    request = {"op": op, "m": m, "n": n, "k": k, "ranks": ranks, "dtype": _NUMBER[type_word(as_dtype(dtype))], "target": target,
               "programs": programs, "profile": "" if profile is None else json.dumps(profile),
               "gpu": "" if profile is None else str(profile.get("device", "")), "config": config}
    return json.loads(_tandem.gemm_choices(json.dumps(request)))


def _stream_of(team, given):
    """The stream of a call: the team's own one, one of the team, or a CUDA stream."""
    if given is None:
        return team.stream
    return given if isinstance(given, Stream) else team.adopt(given)


class _Operator:
    """Shared by the operators that multiply. Creation and closing are collective.

    `config`, all optional and the same on all ranks: b_transposed (b is [n, k]), block_m, block_n, block_k, programs, num_warps,
    num_stages, group; of AllGatherGemm bands, slices, copies, pieces; of GemmReduceScatter chunks (tandem/ops.h).
    """

    def __init__(self, team, max_m, n, k, dtype, **config):
        if len(team.members) != team._session.ranks:
            raise ValueError("operators run on the whole world's team")
        self.team, self.n, self.k = team, n, k
        self.dtype = type_word(as_dtype(dtype))
        if self.dtype not in ("fp16", "bf16", "fp32", "fp8e4nv", "fp8e5"):
            raise ValueError(f"operators multiply fp16, bf16, fp32 or fp8, not {self.dtype}")
        self.b_shape = (n, k) if config.get("b_transposed") else (k, n)
        self.max_m = max_m
        self._op = team._call(self._create, max_m, n, k, _NUMBER[self.dtype], json.dumps(config))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _rows(self, m):
        return _rows_of(self.team, m, self.max_m)

    def _input(self, name, array, shape):
        if _shape_of(array, name) != shape:
            raise ValueError(f"`{name}` has shape {list(array.shape)}, {list(shape)} is needed")
        if type_word(array.dtype) != self.dtype:
            raise TypeError(f"`{name}` is {type_word(array.dtype)}, the operator was made for {self.dtype}")
        return _contiguous(array, name)

    def _output(self, tensor, shape, name):
        if tensor is None:
            return self.team.local_empty(shape, "bf16" if self.dtype.startswith("fp8") else self.dtype, name=name)
        if not isinstance(tensor, Tensor):
            raise TypeError(f"`out` must be a tensor of the team, not `{type(tensor).__name__}`")
        if tuple(tensor.shape) != shape:
            raise ValueError(f"`out` has shape {list(tensor.shape)}, {list(shape)} is needed")
        return _contiguous(tensor, "out")

    def _run(self, stream, a, b, out, m):
        self._give(self._launch, stream, a, b, out, m)
        return out

    def _give(self, function, stream, a, b, out, m):
        stream = _stream_of(self.team, stream)
        on_device = [x if isinstance(x, Tensor) else self.team.local_from_array(x, name="host array") for x in (a, b)]
        words = [*(x.address for x in on_device), out.address, m, _NUMBER[type_word(out.dtype)]]
        answer = self.team._call(lambda *_: function(self._op, stream.index, *words))
        for given, copy in zip((a, b), on_device):
            if copy is not given:
                self.team._call(_tandem.release_async, stream.index, copy.address)
        return answer

    def _tuned(self, stream, a, b, out, shape, name, m):
        result = self._output(out, shape, name)
        found = self._give(self._tune, stream, a, b, result, m)
        if out is None:
            self.team._call(_tandem.release_async, _stream_of(self.team, stream).index, result.address)
        return Tuned(**json.loads(found))

    def close(self):
        """Gives the operator's symmetric memory back [collective]."""
        self.team._session.guarded(lambda _: self._close(self._op))


class AllGatherGemm(_Operator):
    """C[m, n] = gather(A)[m, k] @ B[k, n]; A is sharded by rows over the ranks."""

    _create = staticmethod(_tandem.ag_gemm_create)
    _launch = staticmethod(_tandem.ag_gemm_run)
    _tune = staticmethod(_tandem.ag_gemm_tune)
    _close = staticmethod(_tandem.ag_gemm_close)

    def __call__(self, a, b, m, out=None, stream=None):
        """a: [rows_of_rank(m), k], b: [k, n]. Returns out: [m, n], queued on the stream: the team's, or a CUDA stream."""
        a, b = self._input("a", a, (self._rows(m), self.k)), self._input("b", b, self.b_shape)
        out = self._output(out, (m, self.n), "ag_gemm out")
        return self._run(stream, a, b, out, m)

    def tune(self, a, b, m, out=None, stream=None):
        """Times what the model finds quickest on all ranks together, and keeps the best for calls with this m, on disk too. Arguments as a
        call's. Returns Tuned [collective]."""
        a, b = self._input("a", a, (self._rows(m), self.k)), self._input("b", b, self.b_shape)
        return self._tuned(stream, a, b, out, (m, self.n), "ag_gemm out", m)


class GemmReduceScatter(_Operator):
    """out[rows_of_rank(m), n] = this rank's rows of the sum over ranks of A[m, k] @ B[k, n]."""

    _create = staticmethod(_tandem.gemm_rs_create)
    _launch = staticmethod(_tandem.gemm_rs_run)
    _tune = staticmethod(_tandem.gemm_rs_tune)
    _close = staticmethod(_tandem.gemm_rs_close)

    def __call__(self, a, b, m, out=None, stream=None):
        """a: [m, k], b: [k, n], k being this rank's share. Returns out, queued on the stream."""
        rows = self._rows(m)
        a, b = self._input("a", a, (m, self.k)), self._input("b", b, self.b_shape)
        out = self._output(out, (rows, self.n), "gemm_rs out")
        return self._run(stream, a, b, out, m)

    def tune(self, a, b, m, out=None, stream=None):
        """As AllGatherGemm's."""
        rows = self._rows(m)
        a, b = self._input("a", a, (m, self.k)), self._input("b", b, self.b_shape)
        return self._tuned(stream, a, b, out, (rows, self.n), "gemm_rs out", m)


from .collectives import AllGather, AllReduce, GemmAllReduce, ReduceScatter, all_reduce_way  # noqa: E402

__all__ = [
    "AllGather", "AllGatherGemm", "AllReduce", "GemmAllReduce", "GemmReduceScatter", "ReduceScatter", "Tuned", "all_reduce_way", "choices",
    "rows_of_rank", "shard_rows"
]
