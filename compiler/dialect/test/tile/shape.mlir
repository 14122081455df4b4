// Round trip of the ops that make and rearrange tiles.
// RUN: tandem-opt %s | tandem-opt | FileCheck %s
// RUN: tandem-opt %s --mlir-print-op-generic | tandem-opt | FileCheck %s

func.func @shape(%s: f32, %row: tensor<4xf32>, %box: tensor<4x8xf32>, %pairs: tensor<4x2xf32>, %votes: tensor<16xi32>,
                 %mask: tensor<16xi1>, %two: tensor<2xf32>) {
  // CHECK: tile.make_range 4 to 12 : tensor<8xi32>
  %0 = tile.make_range 4 to 12 : tensor<8xi32>
  // CHECK: tile.make_range -4 to 4 : tensor<8xi32>
  %n = tile.make_range -4 to 4 : tensor<8xi32>
  // CHECK: tile.splat %{{[a-z0-9]+}} : f32 -> tensor<4x8xf32>
  %1 = tile.splat %s : f32 -> tensor<4x8xf32>
  %2 = tile.expand_dims %row at 1 : tensor<4xf32> -> tensor<4x1xf32>
  // CHECK: tile.broadcast %{{[a-z0-9]+}} : tensor<4x1xf32> -> tensor<4x8xf32>
  %3 = tile.broadcast %2 : tensor<4x1xf32> -> tensor<4x8xf32>
  // CHECK: tile.reshape %{{[a-z0-9]+}} : tensor<4x8xf32> -> tensor<32xf32>
  %4 = tile.reshape %box : tensor<4x8xf32> -> tensor<32xf32>
  // CHECK: tile.reshape %{{[a-z0-9]+}} {reorder} : tensor<4x8xf32> -> tensor<2x16xf32>
  %5 = tile.reshape %box {reorder} : tensor<4x8xf32> -> tensor<2x16xf32>
  // CHECK: tile.join %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : tensor<4xf32> -> tensor<4x2xf32>
  %7 = tile.join %row, %row : tensor<4xf32> -> tensor<4x2xf32>
  // CHECK: tile.join %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : f32 -> tensor<2xf32>
  %8 = tile.join %s, %s : f32 -> tensor<2xf32>
  // CHECK: tile.split %{{[a-z0-9]+}} : tensor<4x2xf32> -> tensor<4xf32>
  %9, %10 = tile.split %pairs : tensor<4x2xf32> -> tensor<4xf32>
  // CHECK: tile.split %{{[a-z0-9]+}} : tensor<2xf32> -> f32
  %11, %12 = tile.split %two : tensor<2xf32> -> f32
  // CHECK: tile.histogram %{{[a-z0-9]+}} : tensor<16xi32> -> tensor<8xi32>
  %15 = tile.histogram %votes : tensor<16xi32> -> tensor<8xi32>
  // CHECK: tile.histogram %{{[a-z0-9]+}} mask %{{[a-z0-9]+}} : tensor<16xi1> : tensor<16xi32> -> tensor<8xi32>
  %16 = tile.histogram %votes mask %mask : tensor<16xi1> : tensor<16xi32> -> tensor<8xi32>
  return
}
