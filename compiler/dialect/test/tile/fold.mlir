// Ops that change nothing go away; those that only look so stay.
// RUN: tandem-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: @nothing
// CHECK-NEXT: return %arg0, %arg0, %arg0, %arg0, %arg0
func.func @nothing(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = tile.broadcast %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = tile.permute %x [0, 1] : tensor<4x4xf32> -> tensor<4x4xf32>
  %2 = tile.reshape %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %3 = tile.bitcast %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %4 = tile.fp_to_fp %x : tensor<4x4xf32> -> tensor<4x4xf32>
  return %0, %1, %2, %3, %4 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// CHECK-LABEL: @something
// CHECK: %[[A:.*]] = tile.permute
// CHECK: %[[B:.*]] = tile.reshape
// CHECK: return %[[A]], %[[B]]
func.func @something(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = tile.permute %x [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = tile.reshape %x {reorder} : tensor<4x4xf32> -> tensor<4x4xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}
