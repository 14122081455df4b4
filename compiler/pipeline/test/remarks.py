# The remarks of a kernel: a line each, by lines; beside the code; as LLVM's tools read them.
# REQUIRES: ptxas
# RUN: env TANDEM_CACHE=0 tandemc %s:product --remarks --target sm_80 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' | FileCheck %s
# RUN: env TANDEM_CACHE=0 tandemc %s:product --emit=ptx -o /dev/null --remarks --target sm_80 \
# RUN:   --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' 2>&1 \
# RUN:   | FileCheck %s
# RUN: tandemc %s:product --emit=remarks --target sm_80 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=YAML
# RUN: not tandemc %s:product --emit=sim --remarks --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' 2>&1 \
# RUN:   | FileCheck %s --check-prefix=SIM
# SIM: error: --remarks goes with --emit=ptx, cubin or bundle, or without --emit
import triton
import triton.language as tl


@triton.jit
def total(x):
    return tl.sum(x, 1)


# CHECK: remarks.py:[[#@LINE+3]]:1: analysis resources: {{[0-9]+}} registers of each of 128 threads, {{[0-9]+}} bytes of shared memory;
# CHECK-SAME: {{[0-9]+}} blocks on a multiprocessor, by {{registers|shared memory}}
@triton.jit
def product(a, b, c, K):
    m, n, k = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros((64, 64), tl.float32)
    for start in range(0, K, 32):
        # CHECK: remarks.py:[[#@LINE+1]]:13: passed load: copied by cp.async 2 iterations ahead, 16 bytes a thread at once
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        # CHECK: remarks.py:[[#@LINE+3]]:{{[0-9]+}}: passed product: mma.sync m16n8k16 of f16, f32 sums
        # CHECK: remarks.py:[[#@LINE+2]]:{{[0-9]+}}: missed load: not copied ahead of its loop, but loaded into
        # CHECK-SAME: registers 1 iteration ahead: a thread finds 2 bytes side by side, and
        acc = tl.dot(x, tl.load(b + n[None, :] * K + (start + k)[:, None] * 3), acc)
    tl.store(c + m, total(acc))

# YAML: Pass: ptxas
# YAML-NEXT: Name: resources
# YAML-NEXT: DebugLoc: { File: {{.*}}remarks.py
# YAML: Function: product
# YAML-NEXT: Args:
# YAML-NEXT: - String:
# YAML: --- !Missed
# YAML-NEXT: Pass: pipeline-loads
# YAML: - Help:
