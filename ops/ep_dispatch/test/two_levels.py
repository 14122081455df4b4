"""Dispatch and combine in two levels: a token's row goes to each node that has experts for it once, over the team of ranks in its own place
of each node, and from there to the experts' ranks, over the team of the node's ranks. The way back sums in the node first."""

import numpy as np

from tandem.ops import AllGather, EpCombine, EpDispatch, route_parts


def first_of_each(nodes, count):
    """[tokens, count]: each node of a row once, in the order in which they come, then -1."""
    out = np.full((len(nodes), count), -1, np.int32)
    for row, of_token in zip(out, nodes):
        named = list(dict.fromkeys(n for n in of_token.tolist() if n >= 0))
        row[: len(named)] = named
    return out


class TwoLevels:
    """`node`: how many ranks a node has, those that follow one another."""

    def __init__(self, team, node, most, columns, experts, top_k, dtype, **chosen):
        self.nodes, self.node, self.most, self.top_k = team.size // node, node, most, top_k
        at, place = divmod(team.rank, node)
        self.at, self.of_node = at, experts // self.nodes
        self.inside = team.split(range(at * node, (at + 1) * node))
        self.across = team.split([n * node + place for n in range(self.nodes)])
        self.named = min(top_k, self.nodes)
        far, near = (most, columns, self.nodes, self.named), (self.nodes * most, columns, self.of_node, top_k)
        self.tell = AllGather(self.across, self.nodes * most, 2 * top_k, "fp32")
        self.out = [EpDispatch(t, *sizes, dtype, **chosen) for t, sizes in ((self.across, far), (self.inside, near))]
        self.back = [EpCombine(t, *sizes, dtype, **chosen) for t, sizes in ((self.across, far), (self.inside, near))]

    def dispatch(self, team, x, ids, weights):
        """The rows that come to this rank's experts, with their route in the node."""
        m, moved = len(x), team.local_from_array
        # What is said of slots goes to all nodes: the rows' own experts, -1 behind the last token.
        told = np.full((self.most, 2, self.top_k), -1, np.float32)
        told[:m, 0], told[:m, 1] = ids, weights
        every = np.array(self.tell(told.reshape(self.most, -1), self.nodes * self.most)).reshape(-1, 2, self.top_k)
        self.far_ids = moved(first_of_each(np.where(ids >= 0, ids // self.of_node, -1), self.named))
        # A row that does not come has no experts in the node, and a dispatch may read it.
        came = moved(np.zeros((len(every), x.shape[1]), x.dtype))
        rows, self.far = self.out[0](moved(x), self.far_ids, moved(np.ones((m, self.named), np.float32)), m, out=came)
        near = every[:, 0].astype(np.int32) - self.at * self.of_node
        self.near_ids = moved(np.where((near >= 0) & (near < self.of_node), near, -1).astype(np.int32))
        rows, self.near = self.out[1](rows, self.near_ids, moved(every[:, 1].copy()), len(near))
        return rows, self.near

    def combine(self, team, h, m):
        """The sums of this rank's tokens."""
        sums = np.array(self.back[1](h, self.near, self.near_ids, self.nodes * self.most))
        order = route_parts(self.far, self.nodes * self.most, 1, self.named).order
        ordered = np.full((self.nodes * self.most * self.named, sums.shape[1]), np.nan, sums.dtype)
        ordered[: len(order)] = sums[order // self.named]
        return self.back[0](team.local_from_array(ordered), self.far, self.far_ids, m)

    def run(self, team, layer):
        """One layer on this rank: the experts in NumPy. Gives the sums of its tokens."""
        rank, (_, place) = team.rank, divmod(team.rank, self.node)
        rows, route = self.dispatch(team, layer.x[rank], layer.ids[rank], layer.weights[rank])
        tokens = self.node * self.nodes * self.most
        parts = route_parts(route, tokens, layer.local, self.top_k)
        h = np.full((tokens * self.top_k, layer.columns), np.nan, layer.dtype)
        for expert in range(layer.local):
            factor = layer.dtype.type(layer.factor((self.at * self.node + place) * layer.local + expert))
            for row in range(parts.offsets[expert], parts.offsets[expert + 1]):
                h[row] = np.array(rows[int(parts.order[row]) // self.top_k]) * factor
        return self.combine(team, team.local_from_array(h), layer.counts[rank])

    def close(self):
        for operator in (self.tell, *self.out, *self.back):
            operator.close()
