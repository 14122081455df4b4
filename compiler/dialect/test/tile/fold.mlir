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

// What was widened exactly is converted from what it was, if that is back or from 8 bits to 16; what was rounded stays so.
// CHECK-LABEL: @widened
// CHECK-NEXT: %[[A:.*]] = tile.fp_to_fp %arg0 : tensor<8xf8E5M2> -> tensor<8xf16>
// CHECK-NEXT: %[[B:.*]] = tile.fp_to_fp %arg0 : tensor<8xf8E5M2> -> tensor<8xf8E4M3FN>
// CHECK-NEXT: %[[C:.*]] = tile.fp_to_fp %[[B]] : tensor<8xf8E4M3FN> -> tensor<8xbf16>
// CHECK-NEXT: return %[[A]], %arg1, %[[C]]
func.func @widened(%x: tensor<8xf8E5M2>, %y: tensor<8xbf16>) -> (tensor<8xf16>, tensor<8xbf16>, tensor<8xbf16>) {
  %0 = tile.fp_to_fp %x : tensor<8xf8E5M2> -> tensor<8xf32>
  %1 = tile.fp_to_fp %0 : tensor<8xf32> -> tensor<8xf16>
  %2 = tile.fp_to_fp %y : tensor<8xbf16> -> tensor<8xf32>
  %3 = tile.fp_to_fp %2 : tensor<8xf32> -> tensor<8xbf16>
  %4 = tile.fp_to_fp %x : tensor<8xf8E5M2> -> tensor<8xf8E4M3FN>
  %5 = tile.fp_to_fp %4 : tensor<8xf8E4M3FN> -> tensor<8xbf16>
  return %1, %3, %5 : tensor<8xf16>, tensor<8xbf16>, tensor<8xbf16>
}

// Nothing is combined where there is one element along the axis; of a tile of one element, `tile.reduce` makes a scalar.
// CHECK-LABEL: @one
// CHECK-NEXT: %[[X:.*]] = tile.reshape %arg0 : tensor<4x1x8xf32> -> tensor<4x8xf32>
// CHECK-NEXT: %[[I:.*]] = tile.reshape %arg1 : tensor<4x1x8xi32> -> tensor<4x8xi32>
// CHECK-NEXT: %[[S:.*]] = tile.reduce(%arg2) along 0
// CHECK: return %[[X]], %[[I]], %arg0, %[[S]]
func.func @one(%x: tensor<4x1x8xf32>, %i: tensor<4x1x8xi32>, %s: tensor<1xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xi32>, tensor<4x1x8xf32>, f32) {
  %0:2 = tile.reduce(%x, %i) along 1 : (tensor<4x1x8xf32>, tensor<4x1x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>) {
  ^bb0(%a: f32, %m: i32, %b: f32, %n: i32):
    %is = arith.cmpf ogt, %a, %b : f32
    %v = arith.select %is, %a, %b : f32
    %w = arith.select %is, %m, %n : i32
    tile.yield %v, %w : f32, i32
  }
  %1 = tile.scan(%x) along 1 reverse false : (tensor<4x1x8xf32>) -> tensor<4x1x8xf32> {
  ^bb0(%a: f32, %b: f32):
    %v = arith.addf %a, %b : f32
    tile.yield %v : f32
  }
  %2 = tile.reduce(%s) along 0 : (tensor<1xf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  return %0#0, %0#1, %1, %2 : tensor<4x8xf32>, tensor<4x8xi32>, tensor<4x1x8xf32>, f32
}
