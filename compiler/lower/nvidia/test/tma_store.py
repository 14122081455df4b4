# Stores by TMA begin at coordinates that are not negative and at multiples of 16 bytes; where that is not sure, the program looks.
# RUN: tandemc %s:tiles --emit=ptx --target sm_90a --signature '*fp16:16, *fp16:16, i32:16, i32:16' | FileCheck %s --check-prefix=SURE
# RUN: tandemc %s:anywhere --emit=ptx --target sm_90a --signature '*fp16:16, *fp16:16, i32:16, i32:16, i32, i32' \
# RUN:   | FileCheck %s --check-prefix=LOOK
# RUN: tandemc %s:anywhere --emit=ptx --target sm_90a --signature '*fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=SIGNS
# RUN: tandemc %s:product --emit=ptx --target sm_90a --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=NOTMA
# RUN: tandemc %s:product --emit=ptx --target sm_90a --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=TMA
import triton
import triton.language as tl


# SURE-NOT: st.global
# SURE: cp.async.bulk.tensor.2d.global.shared::cta
# SURE-NOT: st.global
@triton.jit
def tiles(x, o, m, n):
    a = tl.make_tensor_descriptor(x, [m, n], [n, 1], [32, 64])
    b = tl.make_tensor_descriptor(o, [m, n], [n, 1], [32, 64])
    at = [tl.program_id(0) * 32, tl.program_id(1) * 64]
    b.store(at, a.load(at))


# LOOK: and.b32 {{.*}}, 7
# LOOK-DAG: st.global
# LOOK-DAG: cp.async.bulk.tensor.2d.global.shared::cta
# SIGNS-NOT: and.b32 {{.*}}, 7;
# SIGNS-DAG: st.global
# SIGNS-DAG: cp.async.bulk.tensor.2d.global.shared::cta
@triton.jit
def anywhere(x, o, m, n, row, column):
    a = tl.make_tensor_descriptor(x, [m, n], [n, 1], [32, 64])
    b = tl.make_tensor_descriptor(o, [m, n], [n, 1], [32, 64])
    b.store([row, column], a.load([row, column]))


# NOTMA-NOT: cp.async.bulk.tensor.2d.shared
# TMA: cp.async.bulk.tensor.2d.shared
@triton.jit
def product(x, y, o, n, first):
    a = tl.make_tensor_descriptor(x, [n, n], [n, 1], [64, 64])
    b = tl.make_tensor_descriptor(y, [n, n], [n, 1], [64, 64])
    acc = tl.zeros((64, 64), tl.float32)
    for k in range(0, n, 64):
        acc = tl.dot(a.load([0, first + k]), b.load([k, first]), acc)
    i = tl.arange(0, 64)
    tl.store(o + i[:, None] * 64 + i[None, :], acc)
