"""Operators over ranks for NumPy arrays and tensors of a team: one class for each operator of the library, made from its table."""

import json
from typing import TYPE_CHECKING

from .. import _tandem
from ..kernel.element_types import as_dtype, type_word
from ..tune.machine_profile import Profile
from .operator import NUMBER, Operator, Tuned, made
from .routes import RouteParts, route_parts, route_words
from .table import TABLES, Heads, heads_of_rank, number, rows_of_rank, shard_rows  # noqa: F401

if TYPE_CHECKING:  # a stub alone, which the build writes from the same tables
    from ..operator_classes import *  # noqa: F403

CLASSES = {name: made(table) for name, table in TABLES.items()}
globals().update({made.__name__: made for made in CLASSES.values()})


def choices(op, m, n, k, ranks, dtype="bf16", target="sm_90a", programs=132, profile=None, **config):
    """Returns the model's predictions for all ways to carry out `op` ("ag_gemm" or "gemm_rs") on each of `ranks`
    ranks, the quickest first: their
    config and predicted microseconds. `profile`: of `tandem doctor --profile`, as a `tandem.Profile` or the file's dict; else
    the defaults."""
    if isinstance(profile, Profile):
        profile = json.loads(profile.text())
    request = {
        "op": op,
        "m": m,
        "n": n,
        "k": k,
        "ranks": ranks,
        "dtype": NUMBER[type_word(as_dtype(dtype))],
        "target": target,
        "programs": programs,
        "profile": "" if profile is None else json.dumps(profile),
        "gpu": "" if profile is None else str(profile.get("device", "")),
        "config": config,
    }
    return json.loads(_tandem.op_choices(json.dumps(request)))


def workspace(team):
    """The memory that this rank's operators with the option `shared` share: for each piece its name, bytes, whether it is symmetric, and
    how many operators use it."""
    return json.loads(team._call_own(_tandem.op_workspace))


def all_reduce_way(bytes, ranks):
    """The way that `AllReduce` takes when it may choose: one_shot, two_shot_packets or two_shot."""
    return json.loads(_tandem.op_choices(json.dumps({"op": "all_reduce", "bytes": bytes, "ranks": ranks})))[0]["config"]["way"]


__all__ = [
    *(made.__name__ for made in CLASSES.values()),
    "Heads",
    "Operator",
    "RouteParts",
    "Tuned",
    "all_reduce_way",
    "choices",
    "heads_of_rank",
    "route_parts",
    "route_words",
    "rows_of_rank",
    "shard_rows",
    "workspace",
]
