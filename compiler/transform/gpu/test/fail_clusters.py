# An operation that a program of several blocks cannot do is refused at its line.
# RUN: not tandemc %s:volatile --emit=ptx --num-ctas 2 --signature '*i32, *i32' 2>&1 | FileCheck %s --check-prefix=VOLATILE
# RUN: not tandemc %s:clock --emit=ptx --num-ctas 2 --signature '*i64' 2>&1 | FileCheck %s --check-prefix=CLOCK
# RUN: not tandemc %s:threads --emit=ptx --num-ctas 2 --signature '*i32' 2>&1 | FileCheck %s --check-prefix=THREADS
# RUN: not tandemc %s:signal --emit=ptx --num-ctas 2 --signature '*i64' 2>&1 | FileCheck %s --check-prefix=SIGNAL
# RUN: not tandemc %s:ranked --emit=ptx --num-ctas 2 --signature '*i32, *i32' 2>&1 | FileCheck %s --check-prefix=RANKED
# RUN: not tandemc %s:plain --emit=ptx --num-ctas 3 --signature '*i32' 2>&1 | FileCheck %s --check-prefix=THREE
# RUN: not tandemc %s:plain --emit=ptx --num-ctas 16 --signature '*i32' 2>&1 | FileCheck %s --check-prefix=SIXTEEN
# RUN: not tandemc %s:plain --emit=ptx --num-ctas 2 --target sm_80 --signature '*i32' 2>&1 | FileCheck %s --check-prefix=OLD
# RUN: tandemc %s:plain --emit=sim --num-ctas 2 --target sim --signature '*i32'
import triton
import triton.language as tl
import tandem.dist as dl
from tandem.simt import tid


@triton.jit
def volatile(x, y):
    # VOLATILE: fail_clusters.py:[[#@LINE+1]]:{{.*}}: error: `tile.load` in a program of 2 blocks (`num_ctas` = 2): each block would make
    v = tl.load(x, volatile=True)
    tl.store(y, v)


@triton.jit
def clock(o):
    # CLOCK: fail_clusters.py:[[#@LINE+1]]:{{.*}}: error: `tile.inline_asm` in a program of 2 blocks {{.*}}: each block would run this
    t = tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)
    tl.store(o, t)


@triton.jit
def threads(o):
    # THREADS: fail_clusters.py:[[#@LINE+1]]:{{.*}}: error: `simt.tid` in a program of 2 blocks {{.*}}: code of single threads
    t = tid(0)
    tl.store(o, t)


@triton.jit
def signal(ready):
    # SIGNAL: fail_clusters.py:[[#@LINE+1]]:{{.*}}: error: `dist.notify` in a program of 2 blocks {{.*}}: communication between ranks
    dl.notify(ready, 0, signal=1, sig_op="set", comm_scope="intra_node")


@triton.jit
def ranked(x, o):
    i = tl.arange(0, 64)
    # RANKED: fail_clusters.py:[[#@LINE+1]]:{{.*}}: error: `tile.atomic_rmw` in a program of 2 blocks {{.*}}: the old values are needed
    old = tl.atomic_add(x + i, 1)
    tl.store(o, tl.sum(old, axis=0))


# THREE: fail_clusters.py:[[#@LINE+4]]:{{.*}}: error: `num_ctas` must be a power of two up to 8, but is 3
# SIXTEEN: error: `num_ctas` must be a power of two up to 8, but is 16
# OLD: error: `num_ctas` is 2, but sm_80 has no clusters
@triton.jit
def plain(o):
    tl.store(o, 1)
