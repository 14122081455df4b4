# Blocks of strided tensors without TMA: 16 bytes an access where addresses and bounds allow it.
# RUN: tandemc %s:pointer --emit=ptx --target sm_80 --signature '*fp16:16, *fp16:16, i32:16, i32:16' | FileCheck %s --check-prefix=WIDE
# RUN: tandemc %s:pointer --emit=ptx --target sm_80 --signature '*fp16:16, *fp16:16, i32, i32:16' | FileCheck %s --check-prefix=WIDE
# RUN: tandemc %s:pointer --emit=ptx --target sm_80 --signature '*fp16:16, *fp16:16, i32, i32' | FileCheck %s --check-prefix=ONE
# RUN: tandemc %s:pointer --emit=ptx --target sm_80 --signature '*fp16, *fp16, i32:16, i32:16' | FileCheck %s --check-prefix=ONE
# RUN: tandemc %s:column --emit=ptx --target sm_80 --signature '*fp16:16, *fp16:16, i32:16' | FileCheck %s --check-prefix=ONE
# RUN: tandemc %s:descriptor --emit=ptx --target sm_89 --signature '*fp16:16, *fp16:16, i32:16, i32:16' | FileCheck %s --check-prefix=WIDE
# RUN: tandemc %s:endless_rows --emit=ptx --target sm_90a --num-warps 8 --num-stages 1 \
# RUN:   --signature '*fp32:16, *fp32:16, *fp32:16, i32, i32' \
# RUN:   | FileCheck %s --check-prefix=ENDLESS
import triton
import triton.language as tl


# WIDE: ld.global.v4.b32
# WIDE: st.global.v4.b32
# ONE-NOT: .v{{[248]}}
# ONE: ld.global.b16
# ONE-NOT: .v{{[248]}}
@triton.jit
def pointer(x, o, m, n):
    a = tl.make_block_ptr(x, (m, n), (n, 1), (tl.program_id(0) * 32, 64), (32, 64), (1, 0))
    b = tl.make_block_ptr(o, (m, n), (n, 1), (tl.program_id(0) * 32, 64), (32, 64), (1, 0))
    tl.store(b, tl.load(a, boundary_check=(0, 1), padding_option="zero"), boundary_check=(0, 1))


# A block that begins anywhere in its row.
@triton.jit
def column(x, o, n):
    a = tl.make_block_ptr(x, (n, n), (n, 1), (0, tl.program_id(0)), (32, 64), (1, 0))
    b = tl.make_block_ptr(o, (n, n), (n, 1), (0, tl.program_id(0)), (32, 64), (1, 0))
    tl.store(b, tl.load(a, boundary_check=(0, 1), padding_option="nan"), boundary_check=(0, 1))


@triton.jit
def descriptor(x, o, m, n):
    a = tl.make_tensor_descriptor(x, [m, n], [n, 1], [32, 64])
    b = tl.make_tensor_descriptor(o, [m, n], [n, 1], [32, 64])
    b.store([tl.program_id(0) * 32, 64], a.load([tl.program_id(0) * 32, 64]))


# Rows without a mask have no end, so their elements move by four, though two slots of both tiles find no room and no unit copies them.
# ENDLESS-NOT: ld.global.b32
# ENDLESS: ld.global.v4.b32
# ENDLESS-NOT: ld.global.b32
# ENDLESS: wgmma
@triton.jit
def endless_rows(a, b, o, m, k):
    i, j, d = tl.arange(0, 64)[:, None], tl.arange(0, 64)[:, None], tl.arange(0, 256)[None, :]
    sums = tl.zeros((64, 64), tl.float32)
    for at in range(k):
        x = tl.load(a + i * (k * 256) + at * 256 + d, mask=i < m, other=0.0)
        y = tl.load(b + j * (k * 256) + at * 256 + d, mask=j < m, other=0.0)
        sums += tl.dot(x, y.T)
    tl.store(o + i * 64 + tl.arange(0, 64)[None, :], sums)
