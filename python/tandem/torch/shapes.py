"""The shapes of each operation's inputs and output, from the operators' tables. Symbolic sizes work too."""

import math

import torch

from ..ops.function import Function
from ..ops.table import TABLES, counts_of, is_solved, shape_of
from ..ops.table import rows_of_rank as rows_of_numbers


def rows_of_rank(m, ranks, rank):
    """Rows of rank's shard of m rows: cdiv(m, ranks), fewer or none on the last ranks."""
    return rows_of_numbers(m, ranks, rank, torch.sym_min, torch.sym_max)


class Operation(Function):
    """A function with the shapes of its calls."""

    def values(self, shape, n, told, ranks):
        """The table's names, from the first input's shape and the columns of `b`."""
        values = dict(told)
        if self.is_free:
            return {**values, "elements": math.prod(shape)}
        values.update({"k": shape[1], "n": n} if self.multiplies else {"columns": math.prod(shape[1:])})
        if "counts" in told:
            values["counts"] = self._counts(told["counts"], shape[0], ranks)
        elif not self.gathers:
            values["m"] = shape[0]
        elif told["m"] is None:
            values["m"] = shape[0] * ranks
        return values

    def _counts(self, told, rows, ranks):
        """`told`: ranks * ranks numbers; else every rank divides its rows in the same way."""
        return counts_of(rows if told is None else [told[r * ranks : (r + 1) * ranks] for r in range(ranks)], ranks, rows_of_rank)

    def result_dtype(self, dtype):
        """The type of a result that nobody tells. Products of fp8 are bfloat16."""
        return torch.bfloat16 if self.has_type and dtype.itemsize == 1 else dtype

    def rows_in(self, values, world):
        return shape_of(self.first, values, world.size, world.rank, rows=rows_of_rank)[0]

    def output_shape(self, shape, values, world):
        """`shape`: the first input's."""
        if self.is_free:
            return tuple(shape)
        made = shape_of(self.output, values, world.size, world.rank, rows=rows_of_rank)
        return made if self.multiplies else (made[0], *shape[1:])

    def sizes(self, values):
        """Returns the sizes of a call's operator, which may be made for more than the first of them."""
        rows = values["elements"] if self.is_free else values["m"] if "m" in values else max(self._most(values["counts"]))
        return (rows, *(values[size["name"]] for size in self.table["sizes"][1:]))

    def _most(self, counts):
        return [sum(row) for row in counts] + [sum(column) for column in zip(*counts)]

    def numbers(self, values):
        """Returns the numbers as the C ABI takes them, except the type of the output. Flags, which tell of symmetric
        memory, are not set."""
        out = []
        for n in self.table["numbers"]:
            if n["kind"] == "counts":
                out += [count for row in values["counts"] for count in row]
            elif n["kind"] != "type":
                out.append(0 if n["kind"] == "flag" else values[n["name"]])
        return out


OPERATIONS = {name: Operation(table) for name, table in TABLES.items() if not is_solved(table)}
