"""`triton.tools.mxfp`: tensors of the OCP microscaling formats, as codes in bytes of PyTorch."""

import math

_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)  # of E2M1, by code; the fourth bit is the sign
_BIAS, _NAN = 127, 255  # of E8M0


class _Codes:
    """`data` holds a code in each byte; it is made of numbers, or by `random` for a size."""

    def __init__(self, data=None, size=None, device=None):
        if data is None and size is None:
            raise ValueError("either `data` or `size` is wanted")
        self.device = device if data is None else data.device
        if data is None:
            self.size = size if isinstance(size, tuple) else (size,)
        else:
            self.data = self._encode(data)


class MXFP4Tensor(_Codes):
    """Numbers in E2M1: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives."""

    def random(self):
        import torch

        self.data = torch.randint(0, 16, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype):
        import torch

        return torch.tensor([*_MAGNITUDES, *(-m for m in _MAGNITUDES)], dtype=dtype, device=self.device)[self.data.long()]

    def _encode(self, values):
        """The nearest number, of two the one with an even code; what is too large, and NaN, becomes the largest."""
        import torch

        table = torch.tensor(_MAGNITUDES, device=values.device)
        size = values.float().abs().nan_to_num(nan=6.0, posinf=6.0).clamp(max=6.0)
        above = torch.searchsorted(table, size.contiguous()).clamp(max=7)
        below = (above - 1).clamp(min=0)
        up, down = table[above] - size, size - table[below]
        code = torch.where((up < down) | ((up == down) & (above % 2 == 0)), above, below)
        return (code | (torch.signbit(values).long() << 3)).to(torch.uint8)

    def to_packed_tensor(self, dim):
        """Two neighbours along `dim` in each byte, the first one in the low half."""
        import torch

        pairs = (
            self.data.unflatten(dim, (-1, 2))
            if self.data.shape[dim] % 2 == 0
            else torch.nn.functional.pad(self.data, [0, 0] * (self.data.ndim - dim - 1) + [0, 1]).unflatten(dim, (-1, 2))
        )
        return pairs.select(dim + 1, 0) | (pairs.select(dim + 1, 1) << 4)

    def unpack_packed_tensor(self, packed_tensor, dim, original_shape):
        import torch

        codes = torch.stack((packed_tensor & 15, packed_tensor >> 4), dim=dim + 1).flatten(dim, dim + 1)
        return codes.narrow(dim, 0, original_shape[dim])


class MXScaleTensor(_Codes):
    """Scales in E8M0: powers of two, by their exponent."""

    def random(self, low=None, high=None):
        import torch

        exponent = lambda x, none: none if x is None else min(254, max(0, math.floor(math.log2(x)) + _BIAS))
        self.data = torch.randint(exponent(low, 0), exponent(high, 254) + 1, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype):
        import torch

        values = torch.ldexp(torch.ones((), device=self.device), self.data.int() - _BIAS)
        return torch.where(self.data == _NAN, torch.nan, values).to(dtype)

    def _encode(self, values):
        """The power of two at or below a number; NaN for what is not a positive number."""
        import torch

        right = torch.isfinite(values) & (values > 0)
        exponent = torch.frexp(torch.where(right, values.float(), 1.0)).exponent - 1
        return torch.where(right, (exponent + _BIAS).clamp(0, 254), _NAN).to(torch.uint8)
