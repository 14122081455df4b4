# The IR behind a pass, or behind all, with the time it took; what runs passes of its own counts as one.
# RUN: tandemc %s --emit=ptx -o /dev/null --print-after=assign-layouts --signature '*fp32:16' 2>&1 | FileCheck %s --check-prefix=ONE
# RUN: tandemc %s --emit=layouts -o /dev/null --print-after=all --num-ctas 2 --signature '*fp32:16' 2>&1 | FileCheck %s --check-prefix=ALL
# RUN: not tandemc %s --emit=sim -o /dev/null --print-after=assign-layouts --signature '*fp32:16' 2>&1 | FileCheck %s --check-prefix=NONE
# ONE-NOT: //
# ONE: // assign-layouts: {{[0-9]+\.[0-9]+}} ms
# ONE-NOT: //
# ONE: tgpu.layout
# ONE-NOT: ms
# ALL: // canonicalize:
# ALL: // cse:
# ALL: // limit-size:
# ALL: // split-program:
# ALL-NOT: // c{{a|s}}
# ALL: // choose-warps:
# ALL-NOT: // c
# ALL: // recognise-blocks:
# ALL: // carry-offsets:
# ALL: // defer-sums:
# ALL: // select-products:
# ALL: // overlap-products:
# ALL: // pipeline-loads:
# ALL: // longest-first:
# ALL: // assign-layouts:
# ALL: // insert-barriers:
# NONE: error: no pass `assign-layouts` has run; those that have are `canonicalize` `cse`
import triton
import triton.language as tl


@triton.jit
def fill(x_ptr):
    tl.store(x_ptr + tl.program_id(0) * 256 + tl.arange(0, 256), 1.0)
