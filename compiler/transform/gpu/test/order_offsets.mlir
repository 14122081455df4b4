// RUN: tandem-opt --order-offsets %s | FileCheck %s
// The pass adds first what most elements have in common: for rows and for the whole tile, then for each element.

// CHECK-LABEL: func.func @tile
func.func @tile(%x: tensor<32x1x!tile.ptr<f32>>, %c: tensor<16xi32>, %h: tensor<32xi32>, %w: i32) -> tensor<32x16xf32> attributes {tile.num_warps = 4 : i32} {
  // CHECK-DAG: %[[BASE:.*]] = tile.broadcast %{{.*}} : tensor<32x1x!tile.ptr<f32>>
  // CHECK-DAG: %[[COLUMNS:.*]] = tile.broadcast %{{.*}} : tensor<1x16xi32>
  // CHECK-DAG: %[[ROWS:.*]] = tile.broadcast %{{.*}} : tensor<32x1xi32>
  // CHECK-DAG: %[[ALL:.*]] = tile.splat
  // CHECK: %[[A:.*]] = tile.addptr %[[BASE]], %[[ROWS]]
  // CHECK: %[[B:.*]] = tile.addptr %[[A]], %[[ALL]]
  // CHECK: %[[C:.*]] = tile.addptr %[[B]], %[[COLUMNS]]
  // CHECK: tile.load %[[C]]
  %base = tile.broadcast %x : tensor<32x1x!tile.ptr<f32>> -> tensor<32x16x!tile.ptr<f32>>
  %c1 = tile.expand_dims %c at 0 : tensor<16xi32> -> tensor<1x16xi32>
  %columns = tile.broadcast %c1 : tensor<1x16xi32> -> tensor<32x16xi32>
  %h1 = tile.expand_dims %h at 1 : tensor<32xi32> -> tensor<32x1xi32>
  %rows = tile.broadcast %h1 : tensor<32x1xi32> -> tensor<32x16xi32>
  %all = tile.splat %w : i32 -> tensor<32x16xi32>
  %p = tile.addptr %base, %columns : tensor<32x16x!tile.ptr<f32>>, tensor<32x16xi32>
  %q = tile.addptr %p, %rows : tensor<32x16x!tile.ptr<f32>>, tensor<32x16xi32>
  %r = tile.addptr %q, %all : tensor<32x16x!tile.ptr<f32>>, tensor<32x16xi32>
  %v = tile.load %r : tensor<32x16x!tile.ptr<f32>> -> tensor<32x16xf32>
  return %v : tensor<32x16xf32>
}

// A term that a loop does not change leaves it, as it did.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for %[[I:[^ ]*]] =
// CHECK: %[[AT:.*]] = tile.splat %[[I]]
// CHECK: %[[A:.*]] = tile.addptr %{{.*}}, %arg1
// CHECK: %[[B:.*]] = tile.addptr %[[A]], %[[AT]]
// CHECK: tile.load %[[B]]
func.func @loop(%x: tensor<32x16x!tile.ptr<f32>>, %fixed: tensor<32x16xi32>, %n: i32) -> tensor<32x16xf32> attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<32x16xf32>
  %r = scf.for %i = %zero to %n step %one iter_args(%sum = %none) -> (tensor<32x16xf32>) : i32 {
    %at = tile.splat %i : i32 -> tensor<32x16xi32>
    %p = tile.addptr %x, %fixed : tensor<32x16x!tile.ptr<f32>>, tensor<32x16xi32>
    %q = tile.addptr %p, %at : tensor<32x16x!tile.ptr<f32>>, tensor<32x16xi32>
    %v = tile.load %q : tensor<32x16x!tile.ptr<f32>> -> tensor<32x16xf32>
    %s = arith.addf %sum, %v : tensor<32x16xf32>
    scf.yield %s : tensor<32x16xf32>
  }
  return %r : tensor<32x16xf32>
}

// Beside a loop the order stays.
// CHECK-LABEL: func.func @beside
// CHECK: scf.for
// CHECK: %[[P:.*]] = tile.addptr %arg0, %arg1
// CHECK: %[[Q:.*]] = tile.addptr %[[P]], %{{.*}}
// CHECK: tile.load %[[Q]]
func.func @beside(%x: tensor<32x16x!tile.ptr<f32>>, %each: tensor<32x16xi32>, %w: i32, %n: i32) -> tensor<32x16xf32> attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<32x16xf32>
  %r = scf.for %i = %zero to %n step %one iter_args(%sum = %none) -> (tensor<32x16xf32>) : i32 {
    %s = arith.addf %sum, %sum : tensor<32x16xf32>
    scf.yield %s : tensor<32x16xf32>
  }
  %all = tile.splat %w : i32 -> tensor<32x16xi32>
  %p = tile.addptr %x, %each : tensor<32x16x!tile.ptr<f32>>, tensor<32x16xi32>
  %q = tile.addptr %p, %all : tensor<32x16x!tile.ptr<f32>>, tensor<32x16xi32>
  %v = tile.load %q : tensor<32x16x!tile.ptr<f32>> -> tensor<32x16xf32>
  %t = arith.addf %r, %v : tensor<32x16xf32>
  return %t : tensor<32x16xf32>
}
