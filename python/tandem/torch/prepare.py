"""Makes operators ready ahead of their calls."""

from collections.abc import Sequence

import torch

from ..ops.table import counts_of, shape_of
from . import world as worlds
from .functions import call
from .shapes import OPERATIONS


def prepare(
    name: str,
    m: int | Sequence[int],
    n: int,
    k: int | None = None,
    dtype: torch.dtype = torch.bfloat16,
    out_dtype: torch.dtype | None = None,
    weight: bool = True,
) -> None:
    """Makes an operator's memory and kernels ready [collective], so that its calls may be captured in a CUDA graph.

    `m` is the number of rows over all ranks (or several numbers), `n` and `k` this rank's sizes of `b`; collectives have no `k`.
    `weight`: `b` will be the transpose of a contiguous [n, k] weight, else it is a contiguous [k, n].
    """
    operation = OPERATIONS.get(name)
    if operation is None:
        raise ValueError(f"no operation `{name}`; there are {', '.join(OPERATIONS)}")
    if (k is None) == operation.multiplies:
        raise ValueError(f"`{name}` {'needs `k`' if operation.multiplies else 'has no `k`'}")
    world = worlds.current()
    for rows in sorted([m] if isinstance(m, int) else m, reverse=True):
        values = {"m": rows, "columns": n, "n": n, "k": k, "elements": rows * n, "counts": counts_of(rows, world.size)}
        shape = (rows, n) if operation.is_free else shape_of(operation.first, values, world.size, world.rank)
        inputs = [torch.zeros(shape, dtype=dtype, device=world.device)]
        if operation.multiplies:
            b = torch.zeros((n, k) if weight else (k, n), dtype=dtype, device=world.device)
            inputs.append(b.t() if weight else b)
        told = {**operation.told, "m": rows}
        call(name, world, inputs, [told[number] for number in operation.told], out_dtype)
    torch.cuda.synchronize(world.device)
