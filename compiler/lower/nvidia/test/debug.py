# Printing and assertions go to the device's printf and assertion handler; a promise leaves nothing behind.
# RUN: tandemc %s:prints --emit=ptx --target sm_80 --signature '*fp16, i32' | FileCheck %s --check-prefix=PRINT
# RUN: tandemc %s:prints --emit=ptx --target sm_90a --signature '*fp16, i32' | FileCheck %s --check-prefix=PRINT
# RUN: tandemc %s:prints --emit=llvm --target sm_90a --signature '*fp16, i32' | FileCheck %s --check-prefix=TEXT
# RUN: tandemc %s:forms --emit=llvm --target sm_80 --signature '*i64' | FileCheck %s --check-prefix=FORMS
# RUN: tandemc %s:overflows --emit=llvm --debug --target sm_80 --signature '*i32, i32' | FileCheck %s --check-prefix=OVERFLOW
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
    # TEXT-DAG: c"pid (%u, %u, %u) idx (%3u) 100%%: (operand 0) %f\0A\00"
    # TEXT-DAG: c"pid (%u, %u, %u) idx () 100%%: (operand 1) %d\0A\00"
    tl.device_print("100% ", tl.load(x + i), n)


@triton.jit
def forms(x):
    # FORMS-DAG: c"pid (%u, %u, %u) idx (%2u, %1u) small: 0x%02llx\0A\00"
    # FORMS-DAG: c"pid (%u, %u, %u) idx (): %p\0A\00"
    # FORMS-DAG: c"pid (%u, %u, %u) idx () wide: %lld\0A\00"
    # FORMS-DAG: c"pid (%u, %u, %u) here\0A\00"
    tl.device_print("small", tl.zeros([32, 4], tl.int8), hex=True)
    tl.device_print(" ", x)
    tl.device_print("wide", tl.load(x))
    tl.device_print("here")


@triton.jit
def overflows(x, n):
    # OVERFLOW: c"int32 overflow detected for operation mul\00"
    # OVERFLOW: call void @__assertfail(
    tl.store(x, n * n)


@triton.jit
def asserts(x):
    i = tl.arange(0, 128)
    # NONE-NOT: __assertfail
    # HANDLER: __assertfail
    # ASSERT: c"it is positive\00"
    # ASSERT: debug.py\00"
    # The threads that fail end; the others meet.
    # ASSERT: call void @__assertfail(
    # ASSERT-NEXT: unreachable
    # ASSERT: asserted:
    # ASSERT-NEXT: bar.sync
    tl.device_assert(tl.load(x + i) > 0, "it is positive")


@triton.jit
def promises(x, n):
    # ASSUME: call void @llvm.assume
    tl.assume(n > 0)
    tl.store(x, n // 16)
