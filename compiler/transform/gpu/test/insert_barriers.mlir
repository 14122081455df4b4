// RUN: tandem-opt --assign-layouts --insert-barriers %s | FileCheck %s
// Stores of one buffer at shifted places meet through other threads; at the same places each thread has its own.

// CHECK-LABEL: func.func @shifted
// CHECK: tile.store
// CHECK-NEXT: simt.barrier
// CHECK-NEXT: tile.store
func.func @shifted(%o: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32} {
  %one = arith.constant dense<1> : tensor<128xi32>
  %value = arith.constant dense<1.0> : tensor<128xf32>
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %q = tile.addptr %p, %one : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  tile.store %p, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  tile.store %q, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}

// CHECK-LABEL: func.func @same
// CHECK-NOT: simt.barrier
func.func @same(%o: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32} {
  %value = arith.constant dense<1.0> : tensor<128xf32>
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  tile.store %p, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  tile.store %p, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}
