// Round trip of the ops that hold a region of scalars.
// RUN: tandem-opt %s | tandem-opt | FileCheck %s
// RUN: tandem-opt %s --mlir-print-op-generic | tandem-opt | FileCheck %s

func.func @reduce(%x: tensor<4x8xf32>, %i: tensor<4x8xi32>, %row: tensor<8xf32>) {
  // CHECK: tile.reduce(%{{[a-z0-9]+}}) along 0 : (tensor<8xf32>) -> f32 {
  %0 = tile.reduce(%row) along 0 : (tensor<8xf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    // CHECK: tile.yield %{{[a-z0-9]+}} : f32
    tile.yield %s : f32
  }
  // CHECK: tile.reduce(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) along 1 : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %1:2 = tile.reduce(%x, %i) along 1 : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  ^bb0(%a: f32, %ai: i32, %b: f32, %bi: i32):
    // CHECK: tile.yield %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : f32, i32
    tile.yield %a, %bi : f32, i32
  }
  // CHECK: tile.scan(%{{[a-z0-9]+}}) along 0 reverse true : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  %2 = tile.scan(%x) along 0 reverse true : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.mulf %a, %b : f32
    // CHECK: tile.yield %{{[a-z0-9]+}} : f32
    tile.yield %s : f32
  }
  // CHECK: tile.map_elementwise(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) pack 2 : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>) {
  %3:2 = tile.map_elementwise(%x, %i) pack 2 : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>) {
  ^bb0(%a: f32, %b: f32, %ai: i32, %bi: i32):
    // CHECK: tile.yield %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : f32, f32, i32, i32
    tile.yield %b, %a, %bi, %ai : f32, f32, i32, i32
  }
  return
}
