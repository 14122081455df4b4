# Whoever copies what the kernel before has written waits for its end: the producer too, which does not meet the consumers there.
# RUN: tandemc %s:product --emit=ptx --target sm_90a --num-warps 8 --num-stages 3 \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16' | FileCheck %s
import triton
import triton.language as tl

# CHECK: setmaxnreg.inc
# CHECK: griddepcontrol.launch_dependents
# CHECK: griddepcontrol.wait
# CHECK: setmaxnreg.dec
# CHECK-NOT: cp.async.bulk.tensor
# CHECK-NOT: griddepcontrol.launch_dependents
# CHECK: griddepcontrol.wait
# CHECK: cp.async.bulk.tensor


@triton.jit
def product(a_ptr, b_ptr, c_ptr, m, n, k):
    tl.extra.cuda.gdc_launch_dependents()
    tl.extra.cuda.gdc_wait()
    row, column = tl.program_id(0) * 128, tl.program_id(1) * 128
    a = tl.make_tensor_descriptor(a_ptr, [m, k], [k, 1], [128, 64])
    b = tl.make_tensor_descriptor(b_ptr, [k, n], [n, 1], [64, 128])
    c = tl.make_tensor_descriptor(c_ptr, [m, n], [n, 1], [128, 128])
    acc = tl.zeros((128, 128), tl.float32)
    for at in range(0, k, 64):
        acc = tl.dot(a.load([row, at]), b.load([at, column]), acc)
    c.store([row, column], acc.to(tl.float16))
