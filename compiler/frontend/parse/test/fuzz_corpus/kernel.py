@tandem.jit
def add(x, y, n, *, B: tl.constexpr = 64) -> None:
    offs = tl.program_id(0) * B + tl.arange(0, B)
    mask = (offs < n) & ~(offs == 0x10)
    if n > 1_000 and not x is None:
        tl.store(y + offs, tl.load(x + offs[:, None], mask=mask, other=0.5e-3))
    elif n:
        y[0], *z = -n ** 2, 3 if mask else 4
    else:
        for i, (a, b) in zip(range(0, n, 2), y): acc += a @ b
