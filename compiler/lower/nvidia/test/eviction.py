# An eviction policy is for both caches: a hint for L1, and a policy for L2, which is made once for all loads.
# RUN: tandemc %s:twice --emit=ptx --target sm_90a --signature '*fp32:16, *fp32:16, *fp32:16' | FileCheck %s
import triton
import triton.language as tl


# CHECK: createpolicy.fractional.L2::evict_last.b64 %[[LAST:.*]], 1.0;
# CHECK: ld.global.L1::evict_last.L2::cache_hint.v4.b32 {{.*}}, %[[LAST]];
# CHECK: ld.global.L1::evict_last.L2::cache_hint.v4.b32 {{.*}}, %[[LAST]];
# CHECK: createpolicy.fractional.L2::evict_first.b64 %[[FIRST:.*]], 1.0;
# CHECK: ld.global.L1::evict_first.L2::cache_hint.v4.b32 {{.*}}, %[[FIRST]];
# CHECK-NOT: createpolicy
@triton.jit
def twice(x, y, o):
    i = tl.arange(0, 512)
    total = tl.sum(tl.load(x + i, eviction_policy="evict_last") + tl.load(y + i, eviction_policy="evict_last"))
    tl.store(o + i, tl.load(x + i, eviction_policy="evict_first") * total)
