"""A pass over the graphs of torch.compile: a collective beside a product becomes the operator that overlaps both."""

import dataclasses
import operator

import torch
import torch.distributed as dist

from . import world as worlds

_aten = torch.ops.aten
_TYPES = (torch.float16, torch.bfloat16, torch.float32)
_VIEWS = (_aten.view.default, _aten._unsafe_view.default, _aten.reshape.default)


def _collective(wait):
    """The functional collective that a node waits for, if nothing else uses it."""
    if wait.op == "call_function" and wait.target is torch.ops._c10d_functional.wait_tensor.default:
        node = wait.args[0]
        if node.op == "call_function" and len(node.users) == 1:
            return node
    return None


def _gather(wait):
    """The all_gather that a node waits for, if nothing else uses it."""
    node = _collective(wait)
    return node if node and node.target is torch.ops._c10d_functional.all_gather_into_tensor.default else None


def _gathers_alike(wait, gather):
    """Whether the node waits for another gathering of the same rows, as two layers make that DTensor divides one by one."""
    other = _gather(wait)
    if other is None or other.args[1:] != gather.args[1:] or _shape(other) != _shape(gather):
        return False
    return _behind_view(other.args[0], False) == _behind_view(gather.args[0], False)


def _is_world(group, world):
    resolved = dist.distributed_c10d._resolve_process_group(group) if isinstance(group, str) else group
    return dist.get_process_group_ranks(resolved) == world.members


def _shape(node):
    return tuple(node.meta["val"].shape)


@dataclasses.dataclass(frozen=True)
class _Moved:
    """Rows in another order: those of `shape`, without its last dimension, taken apart along one of them in so many parts, which are joined
    along another. PyTorch does so where ranks divide a dimension behind a batch."""

    shape: tuple
    parts: int
    along: int
    to: int

    def divided(self):
        """The shape with a dimension of the parts, and the order in which that one is ahead of the dimension of the joined rows."""
        shape = [*self.shape[: self.along], self.parts, self.shape[self.along] // self.parts, *self.shape[self.along + 1 :]]
        rest = [d for d in range(len(shape)) if d != self.along]
        return shape, [*rest[: self.to], self.along, *rest[self.to :]]


def _parts_of(node):
    """What a node shows in another shape by taking it apart along one dimension and joining all parts along another, and how its rows are
    moved so; None: they are in their order."""
    if node.op != "call_function" or node.target is not _aten.cat.default:
        return None
    parts, to = node.args[0], node.args[1] if len(node.args) > 1 else 0
    split = parts[0].args[0] if parts[0].target is operator.getitem else None
    if getattr(split, "target", None) is not _aten.split.Tensor or len(split.users) != len(parts):
        return None
    whole, along = split.args[0], split.args[2] if len(split.args) > 2 else 0
    along, to = along % len(_shape(whole)), to % len(_shape(whole))
    in_order = all(part.target is operator.getitem and part.args == (split, i) and len(part.users) == 1 for i, part in enumerate(parts))
    is_whole = _shape(whole)[along] == sum(_shape(part)[along] for part in parts)
    alike = len({_shape(part) for part in parts}) == 1
    if not in_order or not is_whole or max(along, to) == len(_shape(whole)) - 1:
        return None
    if {*_shape(whole)[:along], *_shape(parts[0])[:to]} <= {1}:
        return whole, None
    return (whole, _Moved(_shape(whole)[:-1], len(parts), along, to)) if alike else None


def _behind_view(node, alone=True):
    """What a node shows in another shape with the same last dimension, if views alone use it on the way, and how its rows are moved in
    between, at most once; `alone`: one on each step."""
    moved = None
    while True:
        is_view = node.op == "call_function" and node.target in _VIEWS
        source, how = (node.args[0], None) if is_view else _parts_of(node) or (None, None)
        if source is None or (alone and len(source.users) > 1) or _shape(node)[-1:] != _shape(source)[-1:] or (moved and how):
            return node, moved
        node, moved = source, moved or how


def _uses(node):
    """All that uses a node, also in another shape."""
    shapes = (*_VIEWS, _aten.split.Tensor, operator.getitem, _aten.cat.default)
    return {use for user in node.users for use in (_uses(user) if user.target in shapes else {user})}


def _is_matrix(node):
    """Whether operators take the node as their right operand: contiguous, or the transpose of what is."""
    value = node.meta["val"]
    return value.dtype in _TYPES and (value.is_contiguous() or value.t().is_contiguous())


_PRODUCTS = (_aten.mm.default, _aten.addmm.default)


def _product(node):
    """A product that only `node`, or the view that it is, shows, and how its rows are moved there; None: it is none."""
    node, moved = _behind_view(node)
    if node.op == "call_function" and node.target in _PRODUCTS and not node.kwargs and _is_matrix(node.args[-1]):
        return node, moved
    return None


def _takes(product, wait):
    """Whether the node is a product of what `wait` gives, as its left operand, with a matrix."""
    if product.op != "call_function" or product.target not in _PRODUCTS or product.kwargs:
        return False
    left, right = product.args[-2:]
    with_bias = product.target is _aten.addmm.default
    return len(product.args) == 2 + with_bias and _is_matrix(right) and _behind_view(left, False)[0] is wait


def _are_worth_joining(products):
    """Their right operands are copied beside one another in each call: with fewer rows than columns that may cost more than it hides."""
    values = [product.args[-1].meta["val"] for product in products]
    lie_alike = all(value.is_contiguous() for value in values) or all(value.t().is_contiguous() for value in values)
    rows, columns = _shape(products[0])[0], sum(_shape(product)[1] for product in products)
    return lie_alike and len({value.dtype for value in values}) == 1 and rows >= columns


class _Rewriter:
    def __init__(self, graph, world):
        self.graph, self.world, self.count = graph, world, 0

    def _made(self, value, target, *args):
        node = self.graph.call_function(target, args)
        node.meta["val"] = value
        return node

    def _rows(self, node):
        """The node as a matrix of its rows."""
        value = node.meta["val"]
        if value.dim() == 2:
            return node
        flat = value.reshape(-1, value.shape[-1])
        return self._made(flat, _aten.reshape.default, node, list(flat.shape))

    def _move(self, node, moved):
        """The matrix with its rows moved."""
        if moved is None:
            return node
        shape, order = moved.divided()
        apart = node.meta["val"].reshape(*shape, -1)
        result = self._made(apart, _aten.reshape.default, node, list(apart.shape))
        turned = apart.permute(*order, len(order))
        result = self._made(turned, _aten.permute.default, result, [*order, len(order)])
        flat = turned.reshape(-1, turned.shape[-1])
        return self._made(flat, _aten.reshape.default, result, list(flat.shape))

    def _replace(self, node, result):
        if _shape(result) != _shape(node):
            result = self._made(node.meta["val"], _aten.reshape.default, result, list(_shape(node)))
        node.replace_all_uses_with(result)
        self.count += 1

    def gathered(self, wait):
        """mm(all_gather(x), b), also in another shape, with the rows moved, or with a bias; several of them, as of queries, keys and
        values, are one, also where each gathers the rows anew."""
        gather = _gather(wait)
        if gather is None or not _is_world(gather.args[2], self.world):
            return
        alike = [node for node in self.graph.nodes if node is wait or _gathers_alike(node, gather)]
        for waits in (alike, [wait]):
            of = {use: one for one in waits for use in _uses(one)}
            products = [node for node in self.graph.nodes if node in of]
            if not products or not all(_takes(product, of[product]) for product in products):
                continue
            if len(products) == 1 or (_are_worth_joining(products) and self._move_right(products)):
                break
        else:
            return
        first, rights = products[0], [product.args[-1] for product in products]
        x = _gather(of[first]).args[0]
        with self.graph.inserting_before(first):
            joined = self._joined(rights)
            value = first.meta["val"].new_empty((_shape(first)[0], _shape(joined)[1]))
            result = self._made(value, torch.ops.tandem.ag_gemm.default, self._rows(x), joined)
        column = 0
        for product in products:
            with self.graph.inserting_before(product):
                value, end = product.meta["val"], column + _shape(product)[1]
                part = result if len(products) == 1 else self._made(value, _aten.slice.Tensor, result, 1, column, end)
                part = self._move(part, _behind_view(product.args[-2], False)[1])
                if product.target is _aten.addmm.default:
                    part = self._made(value, _aten.add.Tensor, part, product.args[0])
                column = end
            for user in product.users:
                if user.target in _VIEWS:  # a part's rows do not follow one another
                    user.target = _aten.reshape.default
            self._replace(product, part)

    def _joined(self, rights):
        """The matrices beside one another, lying as they do."""
        if len(rights) == 1:
            return rights[0]
        values = [right.meta["val"] for right in rights]
        inner, columns = values[0].shape[0], sum(value.shape[1] for value in values)
        if all(value.is_contiguous() for value in values):
            return self._made(values[0].new_empty((inner, columns)), _aten.cat.default, rights, 1)
        lying = [self._made(value.t(), _aten.permute.default, right, [1, 0]) for value, right in zip(values, rights)]
        whole = self._made(values[0].new_empty((columns, inner)), _aten.cat.default, lying)
        return self._made(whole.meta["val"].t(), _aten.permute.default, whole, [1, 0])

    def _move_right(self, products):
        """Moves what all right operands follow from ahead of the first product, if that can be."""
        order = {node: i for i, node in enumerate(self.graph.nodes)}
        first, seen = products[0], set()
        later = [product.args[-1] for product in products if order[product.args[-1]] > order[first]]
        while later:
            node = later.pop()
            seen.add(node)
            if node.op != "call_function" or node.is_impure() or node in products:
                return False
            later += [source for source in node.all_input_nodes if order[source] >= order[first] and source not in seen]
        for node in sorted(seen, key=order.get):
            first.prepend(node)
        return True

    def summed(self, wait):
        """reduce_scatter(mm(a, b)) or all_reduce(mm(a, b)), also of the product in another shape, with its rows moved, or with a bias."""
        collective = _collective(wait)
        names = {"reduce_scatter_tensor": "gemm_rs", "all_reduce": "gemm_ar"}
        kinds = {getattr(torch.ops._c10d_functional, name).default: made for name, made in names.items()}
        if collective is None or collective.target not in kinds:
            return
        y, reduction, *_, group = collective.args
        found = _product(y)
        if found is None or len(y.users) > 1 or reduction != "sum" or not _is_world(group, self.world):
            return
        product, moved = found
        *bias, left, right = product.args
        if bias and not (_shape(bias[0]) == _shape(right)[1:] and bias[0].meta["val"].is_contiguous()):
            return
        with self.graph.inserting_before(wait):
            value = wait.meta["val"].reshape(-1, _shape(wait)[-1])
            result = self._made(value, getattr(torch.ops.tandem, kinds[collective.target]).default, self._move(left, moved), right)
            if bias:  # of which the ranks may have different ones
                total = self._made(value.new_empty(_shape(bias[0])), torch.ops.tandem.all_reduce.default, bias[0])
                result = self._made(value, _aten.add.Tensor, result, total)
            self._replace(wait, result)


def overlap_products(graph: torch.fx.Graph) -> int:
    """Replaces, in a graph of PyTorch's functional collectives over all ranks, all_gather -> mm, mm -> reduce_scatter and
    mm -> all_reduce by `ag_gemm`, `gemm_rs` and `gemm_ar`, where nothing else uses what is between. Several products of the same
    gathered rows become one where these rows are at least as many as all their columns. Returns how many products and sums it replaced.
    A pass for torch.compile: `torch.compile(model, options={"post_grad_custom_pre_pass": tandem.torch.overlap_products})`."""
    rewriter = _Rewriter(graph, worlds.current())
    for node in list(graph.nodes):
        if node.op != "call_function" or "val" not in node.meta:
            continue
        if node.target is torch.ops._c10d_functional.wait_tensor.default:
            rewriter.gathered(node)
            rewriter.summed(node)
    if rewriter.count:
        _drop_unused(graph)
        graph.lint()
    return rewriter.count


def _drop_unused(graph):
    """Collectives and waits are impure to the graph, but nobody sees those without users."""
    ours = torch.ops._c10d_functional
    collectives = {o.default for o in (ours.wait_tensor, ours.all_gather_into_tensor, ours.reduce_scatter_tensor, ours.all_reduce)}
    for node in reversed(graph.nodes):
        if not node.users and node.op == "call_function" and (node.target in collectives or not node.is_impure()):
            graph.erase_node(node)
