// RUN: not tandem-opt --select-products=target=sm_99 %s 2>&1 | FileCheck %s
// RUN: not tandem-opt --nvidia=target=sm_99 %s 2>&1 | FileCheck %s
// CHECK: fail_target.mlir:[[@LINE+1]]:1: error: target `sm_99` is unknown; known are `sm_80`, `sm_89`, `sm_90a`
func.func @f() attributes {tile.num_warps = 4 : i32} {
  return
}
