// RUN: tandem-opt --carry-offsets %s | FileCheck %s
// A loop that moves a tile of pointers on carries how far it has moved.

// CHECK-LABEL: func.func @moved
func.func @moved(%x: !tile.ptr<f32>, %n: i32) -> tensor<128xf32> attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 128 : i32
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %x : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  // CHECK: %[[FIRST:.*]] = tile.addptr
  %first = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %none = tile.load %first : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
  // CHECK: scf.for {{.*}} iter_args(%[[BY:.*]] = %c0_i64, {{.*}}) -> (i64, tensor<128xf32>)
  %r:2 = scf.for %i = %zero to %n step %step iter_args(%p = %first, %sum = %none) -> (tensor<128x!tile.ptr<f32>>, tensor<128xf32>) : i32 {
    // CHECK: %[[FAR:.*]] = tile.splat %[[BY]]
    // CHECK: %[[AT:.*]] = tile.addptr %[[FIRST]], %[[FAR]]
    // CHECK: tile.load %[[AT]]
    %v = tile.load %p : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
    %s = arith.addf %sum, %v : tensor<128xf32>
    %by = tile.splat %step : i32 -> tensor<128xi32>
    %q = tile.addptr %p, %by : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
    // CHECK: arith.addi %[[BY]], %c128_i64
    scf.yield %q, %s : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  }
  return %r#1 : tensor<128xf32>
}
