"""flag-gems: PyTorch's operators, from elementwise ones to products, scans, sorts and convolutions."""

import functools
import importlib
import os

import torch
import torch.nn.functional as F
from case import case

os.environ.setdefault("GEMS_VENDOR", "nvidia")  # else it asks the machine


def ops():
    return importlib.import_module("flag_gems").ops


def fused():
    return importlib.import_module("flag_gems").fused


add_case = functools.partial(case, "flag-gems")


def matrix(make, columns=(300, 4096), rows=(65, 4096), dtype=torch.bfloat16):
    return make(make.pick(*rows), make.pick(*columns), dtype=dtype)


def normed(make):
    columns = make.pick(300, 4096)
    return matrix(make, rows=(65, 8192)), make(columns), make(columns)


def product(m, k, n):
    return lambda make: (make(make.pick(65, m), make.pick(300, k)), make(make.pick(300, k), make.pick(130, n)))


def two(make):
    return matrix(make), matrix(make)


def single(make):
    return (matrix(make, (300, 5000)),)


def wide(make):
    return (matrix(make, dtype=torch.float32),)


def image(make, channels=64, dtype=torch.bfloat16):
    return make(make.pick(2, 16), channels, make.pick(14, 56), make.pick(14, 56), dtype=dtype)


SIMPLE = [  # name, inputs, the library's function, PyTorch's
    ("add", two, lambda x, y: ops().add(x, y), torch.add),
    ("gelu", single, lambda x: ops().gelu(x), F.gelu),
    ("triu", single, lambda x: ops().triu(x, 1), lambda x: x.triu(1)),
    ("flip", single, lambda x: ops().flip(x, [1]), lambda x: x.flip(1)),
    ("cat", two, lambda x, y: ops().cat([x, y], 1), lambda x, y: torch.cat([x, y], 1)),
    ("silu_and_mul", two, lambda x, y: fused().silu_and_mul(x, y), lambda x, y: F.silu(x) * y),
    ("softmax", single, lambda x: ops().softmax(x, -1), lambda x: x.softmax(-1)),
    ("softmax_long", lambda m: (m(m.pick(4, 128), m.pick(3000, 100000)),), lambda x: ops().softmax(x, -1), lambda x: x.softmax(-1)),
    ("softmax_columns", lambda m: (matrix(m, (100, 4096), (64, 2048)),), lambda x: ops().softmax(x, 0), lambda x: x.softmax(0)),
    ("log_softmax", single, lambda x: ops().log_softmax(x, -1), lambda x: x.log_softmax(-1)),
    ("max_dim", single, lambda x: tuple(ops().max_dim(x, 1))[0], lambda x: x.max(1)[0]),
    ("argmax", wide, lambda x: ops().argmax(x, 1), lambda x: x.argmax(1)),
    ("sum_dim", single, lambda x: ops().sum_dim(x, [1]), lambda x: x.sum(1)),
    ("sum_columns", single, lambda x: ops().sum_dim(x, [0]), lambda x: x.sum(0)),
    ("sum", wide, lambda x: ops().sum(x), torch.sum),
    ("mean_dim", single, lambda x: ops().mean_dim(x, [1]), lambda x: x.mean(1)),
    ("var_mean", wide, lambda x: ops().var_mean(x, [1]), lambda x: torch.var_mean(x, 1)),
    ("vector_norm", wide, lambda x: ops().vector_norm(x, 2, [1]), lambda x: x.norm(dim=1)),
    ("cumsum", wide, lambda x: ops().cumsum(x, 1), lambda x: x.cumsum(1)),
    ("cumsum_columns", wide, lambda x: ops().cumsum(x, 0), lambda x: x.cumsum(0)),
    ("topk", lambda m: (matrix(m, (3000, 65536), (9, 128), torch.float32),), lambda x: ops().topk(x, 8)[0], lambda x: x.topk(8)[0]),
    ("sort", lambda m: (matrix(m, (1000, 16384), (9, 256), torch.float32),), lambda x: ops().sort(x)[0], lambda x: x.sort()[0]),
    ("nonzero", lambda m: (m.integers(m.pick(100, 2048), 2048, below=2),), lambda x: ops().nonzero(x), lambda x: x.nonzero()),
    ("mm", product(4096, 4096, 4096), lambda a, b: ops().mm(a, b), torch.mm),
    ("mm_few_rows", lambda m: (m(16, m.pick(300, 8192)), matrix(m, (130, 8192), (300, 8192))), lambda a, b: ops().mm(a, b), torch.mm),
    ("mv", lambda m: (matrix(m, (300, 8192), (65, 8192)), m(m.pick(300, 8192))), lambda a, b: ops().mv(a, b), torch.mv),
    ("repeat_interleave", single, lambda x: ops().repeat_interleave_self_int(x, 3, 0), lambda x: x.repeat_interleave(3, 0)),
    ("max_pool2d", lambda m: (image(m),), lambda x: ops().max_pool2d_with_indices(x, 3, 2, 1)[0], lambda x: F.max_pool2d(x, 3, 2, 1)),
]
for _name, _inputs, _function, _reference in SIMPLE:
    add_case(_name, inputs=_inputs, reference=_reference)(_function)


@add_case("bmm", inputs=lambda m: (m(m.pick(3, 32), 256, 512), m(m.pick(3, 32), 512, 1024)), reference=torch.bmm)
def bmm(a, b):
    return ops().bmm(a, b)


@add_case("addmm", inputs=lambda m: (m(2048), m(m.pick(65, 2048), 2048), m(2048, 2048)), reference=torch.addmm)
def addmm(c, a, b):
    return ops().addmm(c, a, b)


@add_case("layer_norm", inputs=normed, reference=lambda x, w, b: F.layer_norm(x, w.shape, w, b))
def layer_norm(x, w, b):
    return ops().layer_norm(x, w.shape, w, b)[0]


@add_case("rms_norm", inputs=lambda m: normed(m)[:2], reference=lambda x, w: F.rms_norm(x, w.shape, w, 1e-5))
def rms_norm(x, w):
    return ops().rms_norm(x, w.shape, w)


@add_case(
    "skip_layer_norm",
    inputs=lambda m: (matrix(m, rows=(65, 8192)), *normed(m)),
    reference=lambda r, x, w, b: F.layer_norm(x + r, w.shape, w, b),
)
def skip_layer_norm(r, x, w, b):
    return fused().skip_layer_norm(x, r, w.shape, w, b)


@add_case("group_norm", inputs=lambda m: (image(m), m(64), m(64)), reference=lambda x, w, b: F.group_norm(x, 8, w, b))
def group_norm(x, w, b):
    return ops().group_norm(x, w, b, len(x), 64, x.shape[2] * x.shape[3], 8)[0]


@add_case("batch_norm", inputs=lambda m: (image(m), m(64), m(64)), reference=lambda x, w, b: F.batch_norm(x, None, None, w, b, True))
def batch_norm(x, w, b):
    return ops().batch_norm(x, w, b, None, None, True, 0.1, 1e-5)[0]


def chosen(make, count=4096):
    rows = make.pick(100, 8192)
    return make(rows, 1024), make.integers(make.pick(50, count), below=rows)


@add_case("index_select", inputs=chosen, tolerance=0.0, reference=lambda x, at: x[at])
def index_select(x, at):
    return ops().index_select(x, 0, at)


@add_case("embedding", inputs=chosen, tolerance=0.0, reference=lambda w, at: w[at])
def embedding(w, at):
    return ops().embedding(w, at)


def gathered(make):
    rows = make.pick(100, 4096)
    return make(rows, 1024), make.integers(rows, 512, below=1024)


@add_case("gather", inputs=gathered, tolerance=0.0, reference=lambda x, at: x.gather(1, at))
def gather(x, at):
    return ops().gather(x, 1, at)


def scattered(make):
    rows = make.pick(100, 2048)
    return (
        matrix(make, (1024, 1024), (rows, rows), torch.float32),
        make.integers(rows, 512, below=1024),
        make(rows, 512, dtype=torch.float32),
    )


@add_case("scatter_add", inputs=scattered, tolerance=1e-3, reference=lambda x, at, y: x.scatter_add(1, at, y))
def scatter_add(x, at, y):
    return ops().scatter(x, 1, at, y, reduce="add")


@add_case(
    "isin",
    inputs=lambda m: (m.integers(m.pick(1000, 1 << 20), below=100000), m.integers(m.pick(100, 1000), below=100000)),
    reference=torch.isin,
)
def isin(x, among):
    return ops().isin(x, among)


def told_classes(make):
    rows, classes = make.pick(64, 4096), make.pick(1000, 32000)
    return make(rows, classes, grad=True), make.integers(rows, below=classes)


@add_case("cross_entropy", inputs=told_classes, reference=F.cross_entropy, grad=True)
def cross_entropy(x, at):
    return fused().cross_entropy_loss(x, at)
