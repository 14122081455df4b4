// The program of two blocks becomes the program of each: it has half of each tile, from the block's own position on.
// RUN: tandem-opt --split-program="target=sm_90a blocks=2" %s | FileCheck %s

// CHECK-LABEL: func.func @copies
// CHECK-SAME: tgpu.blocks = 2
// CHECK-DAG: %[[RANK:.*]] = tgpu.block_rank
// CHECK-DAG: %[[OWN:.*]] = tile.make_range 0 to 128
// CHECK: %[[FIRST:.*]] = arith.muli %[[RANK]], %c128_i32
// CHECK: %[[FIRSTS:.*]] = tile.splat %[[FIRST]]
// CHECK: arith.addi %[[OWN]], %[[FIRSTS]]
// CHECK: tile.load {{.*}} -> tensor<128xf32>
// CHECK: tile.store {{.*}} tensor<128xf32>
func.func @copies(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32} {
  %i = tile.make_range 0 to 256 : tensor<256xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>>
  %from = tile.addptr %xs, %i : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
  %to = tile.addptr %ys, %i : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
  %v = tile.load %from : tensor<256x!tile.ptr<f32>> -> tensor<256xf32>
  tile.store %to, %v : tensor<256x!tile.ptr<f32>>, tensor<256xf32>
  return
}

// One of the blocks writes for all where they would write alike.
// CHECK-LABEL: func.func @once
// CHECK: tile.store {{.*}} {tgpu.whole}
func.func @once(%x: !tile.ptr<f32>, %v: f32) attributes {tile.num_warps = 4 : i32} {
  tile.store %x, %v : !tile.ptr<f32>, f32
  return
}
