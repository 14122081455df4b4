# NVSHMEM's own bitcode links, ptxas takes the result, and the state that the host library fills in stays visible.
# REQUIRES: ptxas, nvshmem
# RUN: tandemc %S/dist_nvshmem.py:put --emit=ptx --target sm_90a+nvshmem --signature '*fp32, *fp32, *u64, i64' | FileCheck %s
# RUN: tandemc %S/dist_nvshmem.py:put --emit=cubin -o %t --target sm_90a+nvshmem --signature '*fp32, *fp32, *u64, i64'
# RUN: tandemc %S/dist_nvshmem.py:put --emit=cubin -o %t --target sm_80+nvshmem --signature '*fp32, *fp32, *u64, i64'
# RUN: tandemc %S/dist_nvshmem.py:threads --emit=cubin -o %t --target sm_80+nvshmem --signature '*fp32, *fp32, i64'
# RUN: tandemc %S/dist_nvshmem.py:meet --emit=cubin -o %t --target sm_90a+nvshmem --signature '*fp32'
# RUN: tandemc %S/dist_nvshmem.py:address --emit=cubin -o %t --target sm_90a+nvshmem --signature '*fp32, *u64'

# CHECK: .target sm_90a
# CHECK: .visible .const {{.*}} nvshmemi_device_state_d[
# CHECK: .visible .entry put
# CHECK-NOT: call{{.*}}nvshmemx_
