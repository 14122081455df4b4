"""AllReduce + residual + RMSNorm in NumPy."""

import numpy as np

from tandem.kernel.element_types import as_dtype

LARGEST = 448  # of e4m3
EPS = 1e-5


def rounded(x, dtype):
    return x.astype(as_dtype(dtype))


class Call:
    """Operands of a call on `ranks` ranks. `integers`: small ones, whose sums are exact in every order."""

    def __init__(self, ranks, m, columns, dtype, seed=0, integers=False):
        generator = np.random.default_rng([seed, m, columns])
        draw = (lambda *shape: generator.integers(-4, 5, shape)) if integers else (lambda *shape: generator.standard_normal(shape))
        self.m, self.columns, self.dtype = m, columns, dtype
        self.xs = [rounded(draw(m, columns), dtype) for _ in range(ranks)]
        self.residual, self.weight = rounded(draw(m, columns), dtype), rounded(draw(columns), dtype)

    def new_residual(self):
        """To the bit: the sum in rank order in fp32, rounded, and an addition in the tensors' type."""
        total = np.zeros((self.m, self.columns), np.float32)
        for x in self.xs:
            total = total + x.astype(np.float32)
        return rounded(rounded(total, self.dtype).astype(np.float32) + self.residual.astype(np.float32), self.dtype)

    def normed(self):
        """In float64, of the residual's bits."""
        x = self.new_residual().astype(np.float64)
        return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + EPS) * self.weight.astype(np.float64)

    def check(self, residual, out, scales=None, name=""):
        assert residual.tobytes() == self.new_residual().tobytes(), name
        want, got, tolerance = self.normed(), out.astype(np.float64), {"fp32": 2e-6, "fp16": 1e-3, "bf16": 8e-3}[self.dtype]
        if scales is not None:
            of_row = scales.shape[1] == 1 and self.columns > 128
            wide = scales.astype(np.float64) if of_row else np.repeat(scales.astype(np.float64), 128, axis=1)[:, : self.columns]
            starts = [0] if of_row else range(0, self.columns, 128)
            largest = np.maximum.reduceat(np.abs(want), starts, axis=1)
            np.testing.assert_allclose(scales, largest / LARGEST, rtol=1e-5, err_msg=name)
            assert np.isfinite(got).all() and np.abs(got).max() <= LARGEST, name
            got, tolerance = got * wide, 4e-2
        assert np.linalg.norm(got - want) <= tolerance * max(np.linalg.norm(want), 1e-30), name
