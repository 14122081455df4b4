from __future__ import annotations
import a.b as c, d
from ..m import (x as y, z,)
class K[T](Base, metaclass=M):
    v: int = 3
    async def f(self, a, /, b=1, *args, c, **kw):
        async with (o() as p, q): yield await r
        return [i async for i in s if i] + list(t for t in u)
try:
    pass
except* (A, B) as e:
    raise X from None
finally:
    del g[0], h.i
with (yield): global w
match p, *q:
    case {"k": [1, *_, -2j], **r} | N.V(3, n="s") as t if t: pass
    case _: pass
type A = lambda x, *y: {**x, 1: {2, *y}, 3: {k: v for k, v in y}}
while (n := f(*a, **b)): break
