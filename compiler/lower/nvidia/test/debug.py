# Printing and assertions go to the device's printf and assertion handler; a promise leaves nothing behind.
# RUN: tandemc %s:prints --emit=ptx --target sm_80 --signature '*fp16, i32' | FileCheck %s --check-prefix=PRINT
# RUN: tandemc %s:prints --emit=ptx --target sm_90a --signature '*fp16, i32' | FileCheck %s --check-prefix=PRINT
# RUN: tandemc %s:asserts --emit=ptx --target sm_80 --signature '*i32' | FileCheck %s --check-prefix=NONE
# RUN: tandemc %s:asserts --emit=ptx --debug --target sm_80 --signature '*i32' | FileCheck %s --check-prefix=HANDLER
# RUN: tandemc %s:asserts --emit=llvm --debug --target sm_90a --signature '*i32' | FileCheck %s --check-prefix=ASSERT
# RUN: tandemc %s:promises --emit=llvm --target sm_90a --signature '*i32, i32' | FileCheck %s --check-prefix=ASSUME
import triton
import triton.language as tl


@triton.jit
def prints(x, n):
    i = tl.arange(0, 128)
    # PRINT-DAG: vprintf
    # "idx (%u) 100%%"
    tl.device_print("100% ", tl.load(x + i), n)


@triton.jit
def asserts(x):
    i = tl.arange(0, 128)
    # NONE-NOT: __assertfail
    # HANDLER: __assertfail
    # ASSERT: c"it is positive\00"
    # ASSERT: debug.py\00"
    # ASSERT: call void @__assertfail(
    tl.device_assert(tl.load(x + i) > 0, "it is positive")


@triton.jit
def promises(x, n):
    # ASSUME: call void @llvm.assume
    tl.assume(n > 0)
    tl.store(x, n // 16)
