// A tile that an op wants in other threads than those that have it goes through shared memory; in the same warp's lanes it need not.
// RUN: tandem-opt --assign-layouts --remarks-filter=.* -o /dev/null %s 2>&1 | FileCheck %s

// CHECK: [Analysis] conversion | Category:assign-layouts | Function=turned |
// CHECK-SAME: 16384 bytes change threads through shared memory for the `store` in line [[#@LINE+15]]
// CHECK-NOT: [Analysis]
func.func @turned(%x: !tile.ptr<f32> {tile.multiple_of = 16 : i32}) attributes {tile.num_warps = 4 : i32} {
  %n = arith.constant dense<64> : tensor<64x1xi32>
  %range = tile.make_range 0 to 64 : tensor<64xi32>
  %rows = tile.expand_dims %range at 1 : tensor<64xi32> -> tensor<64x1xi32>
  %columns = tile.expand_dims %range at 0 : tensor<64xi32> -> tensor<1x64xi32>
  %begins = arith.muli %rows, %n : tensor<64x1xi32>
  %b = tile.broadcast %begins : tensor<64x1xi32> -> tensor<64x64xi32>
  %c = tile.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
  %places = arith.addi %b, %c : tensor<64x64xi32>
  %base = tile.splat %x : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %p = tile.addptr %base, %places : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  %v = tile.load %p : tensor<64x64x!tile.ptr<f32>> -> tensor<64x64xf32>
  %t = tile.permute %v [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
  tile.store %p, %t : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}
