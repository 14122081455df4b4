// The lists of both targets by name.
// RUN: tandem-opt --sim %s | FileCheck %s --check-prefix=SIM
// RUN: tandem-opt --nvidia=layouts=false %s | FileCheck %s --check-prefix=GPU
// RUN: tandem-opt --nvidia %s | FileCheck %s --check-prefix=LAYOUTS
// SIM-NOT: arith.muli
// SIM-NOT: longest_first
// GPU: tgpu.longest_first = 0
// GPU-NOT: tgpu.layout
// LAYOUTS: tgpu.layout
func.func @f(%o: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %id = tile.program_id 0
  %end = arith.muli %id, %one : i32
  scf.for %i = %zero to %end step %one : i32 {
    %range = tile.make_range 0 to 128 : tensor<128xi32>
    %base = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
    %p = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
    %v = arith.constant dense<1.0> : tensor<128xf32>
    tile.store %p, %v : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  }
  return
}
