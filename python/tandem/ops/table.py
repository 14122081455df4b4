"""Operators' tables, read from the C ABI (ops/table.h): an operator's sizes, a call's arguments, and the shapes that
follow."""

import json
import math
import operator
import typing

from .. import _tandem

OF_HEADS = {"own_hq": "queries", "own_hkv": "keys"}  # names in shapes
TABLES = {table["name"]: table for table in json.loads(_tandem.op_tables())}


def shard_rows(m, ranks):
    """Rows of a shard when m rows are dealt to the ranks; the last ranks may hold fewer."""
    return -(-m // ranks)


def rows_of_rank(m, ranks, rank, least=min, most=max):
    """Rows of a rank's shard of m: fewer or none on the last ranks. `least`, `most`: for numbers that are symbols."""
    shard = shard_rows(m, ranks)
    return least(most(m - rank * shard, 0), shard)


class Heads(typing.NamedTuple):
    """The heads of an attention that a rank has, where they are dealt to ranks."""

    queries: slice
    keys: slice  # of keys, and of values


def heads_of_rank(hq, hkv, ranks, rank):
    """The heads of `hq` of queries and `hkv` of keys that a rank has (ops/device/heads.py)."""
    parts = min(hkv, ranks)
    part = parts * rank // ranks
    first_rank, end_rank = (-(-p * ranks // parts) for p in (part, part + 1))
    first_key, end_key = (hkv * p // parts for p in (part, part + 1))
    group, sharers = hq // hkv, end_rank - first_rank
    queries = group * (end_key - first_key)
    first, end = (group * first_key + queries * nth // sharers for nth in (rank - first_rank, rank - first_rank + 1))
    return Heads(slice(first, end), slice(first_key, end_key))


def is_solved(table):
    """Returns true if the sizes of a call follow from the shapes of several tensors."""
    return any(t["type"] for t in table["tensors"]) or len(table["sizes"]) > 3


def inputs(table):
    """The tensors that every call takes."""
    return [t for t in table["tensors"] if not t["output"] and not t["given_by"]]


def extras(table):
    """The tensors, behind these, that only some calls take, and results beside the output."""
    return [t for t in table["tensors"][:-1] if t["given_by"] or t["output"]]


def output(table):
    """What a call gives: the last tensor."""
    return table["tensors"][-1]


def is_given(argument, dtype, options, tensor):
    """Returns true if a call has this tensor. `dtype`: the operator's; `options`: those that are set."""
    by = argument["given_by"]
    if by == "any":
        return tensor is not None
    return not by or (dtype.startswith("fp8") if by == "fp8" else by in options)


def type_of(argument, dtype, options):
    """The word of a tensor's type."""
    if argument["quantised_by"] in options:
        return "fp8e4nv"
    return argument["type"] or (argument["type_of_fp8"] if dtype.startswith("fp8") else "") or dtype


def check_given(table, argument, dtype, options, tensor):
    """Raises ValueError where a call has a tensor that it has no use for, or lacks one that it needs. Returns true if it has it."""
    given, by = is_given(argument, dtype, options, tensor), argument["given_by"]
    if given and tensor is None and not argument["output"]:
        raise ValueError(f"`{table['name']}`: `{argument['name']}` is needed with {dtype if by == 'fp8' else f'`{by}`'}")
    if not given and tensor is not None:
        where = f"fp8 alone, not with {dtype}" if by == "fp8" else f"`{by}` alone"
        raise ValueError(f"`{table['name']}`: `{argument['name']}` goes with {where}")
    return given


def number(table, kind):
    """The table's number of a kind, or None."""
    return next((n for n in table["numbers"] if n["kind"] == kind), None)


def is_free(argument):
    """Returns true if a tensor may have any shape."""
    return argument["shape"] == ["elements"]


def counts_of(given, ranks, rows=rows_of_rank):
    """How many rows each rank sends to each, from m rows of each rank, dealt alike, or from those numbers."""
    if hasattr(given, "__len__"):
        if len(given) != ranks or any(len(row) != ranks for row in given):
            raise ValueError(f"`counts` must be {ranks} lists of {ranks} numbers: what each rank sends to each")
        return [[operator.index(count) for count in row] for row in given]
    return [[rows(given, ranks, rank) for rank in range(ranks)]] * ranks


def factor(text, values, ranks, rank, rows):
    function, _, name = text.rstrip(")").rpartition("(")
    if name in OF_HEADS:
        heads = getattr(heads_of_rank(values["hq"], values["hkv"], ranks, rank), OF_HEADS[name])
        return heads.stop - heads.start
    value = int(name) if name.lstrip("-").isdigit() else ranks if name == "ranks" else values[name]
    if function == "own":
        return rows(value, ranks, rank)
    if function == "shard":
        return shard_rows(value, ranks)
    if function == "scales":
        return -(-value // 128)
    if function == "sent":
        return sum(value[rank])
    return sum(row[rank] for row in value) if function == "received" else value


def dimension(text, values, ranks, rank, rows=rows_of_rank):
    """A sum of products. `values`: of the table's sizes, numbers and flags, `counts` as `counts_of` gives them."""
    terms = [[factor(f, values, ranks, rank, rows) for f in term.replace(" ", "").split("*")] for term in text.split("+")]
    return sum(math.prod(term) for term in terms)


def flags_of(table, options=None):
    """The table's flags and options that are numbers, by name: 0 for those that the `options` do not set."""
    given = {name: int(value) for name, value in (options or {}).items() if isinstance(value, int)}
    return {o["name"]: given.get(o["name"], 0) for o in table["options"] if o["kind"] in ("flag", "number")}


def shape_of(argument, values, ranks, rank, options=(), rows=rows_of_rank):
    """`options`: those that are set. None: any shape."""
    if is_free(argument):
        return None
    shape = tuple(dimension(text, values, ranks, rank, rows) for text in argument["shape"])
    return shape[::-1] if argument["transposed_by"] in options else shape


def words_of(table):
    """Describes the options of an operator for people."""
    return "\n".join(f"- `{o['name']}`: {o['what']}" + (f" ({', '.join(o['words'])})" if o["words"] else "") for o in table["options"])
