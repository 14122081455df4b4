// The sum of rows that an online softmax carries becomes eight sums of every eighth column; each of the other loops differs from the
// first in what stands in the way.
// RUN: tandem-opt --defer-sums=target=sm_90a %s | FileCheck %s

// CHECK-LABEL: func.func @softmax
// CHECK-DAG: %[[START:.*]] = arith.constant dense<0.000000e+00> : tensor<64xf32>
// CHECK-DAG: %[[EIGHTH:.*]] = arith.constant 1.250000e-01 : f32
// CHECK: %[[PART:.*]] = arith.mulf %[[START]]
// CHECK: %[[COLUMN:.*]] = tile.expand_dims %[[PART]]
// CHECK: %[[PARTS:.*]] = tile.broadcast %[[COLUMN]] : tensor<64x1xf32> -> tensor<64x8xf32>
// CHECK: %[[SUMS:.*]] = scf.for {{.*}} iter_args(%[[SUM:.*]] = %[[PARTS]]) -> (tensor<64x8xf32>)
// CHECK: %[[DEALT:.*]] = tile.reshape %{{.*}} : tensor<64x64xf32> -> tensor<64x8x8xf32>
// CHECK: %[[ADDED:.*]] = tile.reduce(%[[DEALT]]) along 1 : (tensor<64x8x8xf32>) -> tensor<64x8xf32>
// CHECK: %[[SCALED:.*]] = arith.mulf %[[SUM]], %{{.*}} : tensor<64x8xf32>
// CHECK: %[[NEXT:.*]] = arith.addf %[[SCALED]], %[[ADDED]]
// CHECK: scf.yield %[[NEXT]]
// CHECK: tile.reduce(%[[SUMS]]) along 1 : (tensor<64x8xf32>) -> tensor<64xf32>
func.func @softmax(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %m: tensor<64xf32>, %n: i32) -> tensor<64xf32>
    attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %none) -> (tensor<64xf32>) : i32 {
    %s = tile.dot %a, %b, %zero : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %p = math.exp2 %s : tensor<64x64xf32>
    %f = math.exp2 %m : tensor<64xf32>
    %added = tile.reduce(%p) along 1 : (tensor<64x64xf32>) -> tensor<64xf32> {
    ^bb0(%x: f32, %y: f32):
      %xy = arith.addf %x, %y : f32
      tile.yield %xy : f32
    }
    %scaled = arith.mulf %sum, %f : tensor<64xf32>
    %next = arith.addf %scaled, %added : tensor<64xf32>
    scf.yield %next : tensor<64xf32>
  }
  return %r : tensor<64xf32>
}

// Two warpgroups that share the columns: each has sums of its own half.
// CHECK-LABEL: func.func @shared_columns
// CHECK: arith.constant 6.250000e-02 : f32
// CHECK: %[[SUMS:.*]] = scf.for {{.*}} -> (tensor<64x16xf32>)
// CHECK: %[[DEALT:.*]] = tile.reshape %{{.*}} : tensor<64x64xf32> -> tensor<64x2x4x8xf32>
// CHECK: %[[ADDED:.*]] = tile.reduce(%[[DEALT]]) along 2 : (tensor<64x2x4x8xf32>) -> tensor<64x2x8xf32>
// CHECK: tile.reshape %[[ADDED]] : tensor<64x2x8xf32> -> tensor<64x16xf32>
// CHECK: tile.reduce(%[[SUMS]]) along 1 : (tensor<64x16xf32>) -> tensor<64xf32>
func.func @shared_columns(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %m: tensor<64xf32>, %n: i32) -> tensor<64xf32>
    attributes {tile.num_warps = 8 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %none) -> (tensor<64xf32>) : i32 {
    %s = tile.dot %a, %b, %zero : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %p = math.exp2 %s : tensor<64x64xf32>
    %f = math.exp2 %m : tensor<64xf32>
    %added = tile.reduce(%p) along 1 : (tensor<64x64xf32>) -> tensor<64xf32> {
    ^bb0(%x: f32, %y: f32):
      %xy = arith.addf %x, %y : f32
      tile.yield %xy : f32
    }
    %scaled = arith.mulf %sum, %f : tensor<64xf32>
    %next = arith.addf %scaled, %added : tensor<64xf32>
    scf.yield %next : tensor<64xf32>
  }
  return %r : tensor<64xf32>
}

// Terms that may be negative would cancel otherwise than they did.
// CHECK-LABEL: func.func @terms
// CHECK: iter_args({{.*}}) -> (tensor<64xf32>)
func.func @terms(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %m: tensor<64xf32>, %n: i32) -> tensor<64xf32>
    attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %none) -> (tensor<64xf32>) : i32 {
    %s = tile.dot %a, %b, %zero : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %f = math.exp2 %m : tensor<64xf32>
    %added = tile.reduce(%s) along 1 : (tensor<64x64xf32>) -> tensor<64xf32> {
    ^bb0(%x: f32, %y: f32):
      %xy = arith.addf %x, %y : f32
      tile.yield %xy : f32
    }
    %scaled = arith.mulf %sum, %f : tensor<64xf32>
    %next = arith.addf %scaled, %added : tensor<64xf32>
    scf.yield %next : tensor<64xf32>
  }
  return %r : tensor<64xf32>
}

// So would sums that a negative factor scales.
// CHECK-LABEL: func.func @factor
// CHECK: iter_args({{.*}}) -> (tensor<64xf32>)
func.func @factor(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %m: tensor<64xf32>, %n: i32) -> tensor<64xf32>
    attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %none) -> (tensor<64xf32>) : i32 {
    %s = tile.dot %a, %b, %zero : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %p = math.exp2 %s : tensor<64x64xf32>
    %added = tile.reduce(%p) along 1 : (tensor<64x64xf32>) -> tensor<64xf32> {
    ^bb0(%x: f32, %y: f32):
      %xy = arith.addf %x, %y : f32
      tile.yield %xy : f32
    }
    %scaled = arith.mulf %sum, %m : tensor<64xf32>
    %next = arith.addf %scaled, %added : tensor<64xf32>
    scf.yield %next : tensor<64xf32>
  }
  return %r : tensor<64xf32>
}

// A sum that the loop looks at must be whole in each iteration.
// CHECK-LABEL: func.func @watched
// CHECK: iter_args({{.*}}) -> (tensor<64xf32>, tensor<64xf32>)
func.func @watched(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %m: tensor<64xf32>, %n: i32) -> (tensor<64xf32>, tensor<64xf32>)
    attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %none, %seen = %none) -> (tensor<64xf32>, tensor<64xf32>) : i32 {
    %s = tile.dot %a, %b, %zero : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %p = math.exp2 %s : tensor<64x64xf32>
    %f = math.exp2 %m : tensor<64xf32>
    %added = tile.reduce(%p) along 1 : (tensor<64x64xf32>) -> tensor<64xf32> {
    ^bb0(%x: f32, %y: f32):
      %xy = arith.addf %x, %y : f32
      tile.yield %xy : f32
    }
    %scaled = arith.mulf %sum, %f : tensor<64xf32>
    %next = arith.addf %scaled, %added : tensor<64xf32>
    %most = arith.maximumf %seen, %next : tensor<64xf32>
    scf.yield %next, %most : tensor<64xf32>, tensor<64xf32>
  }
  return %r#0, %r#1 : tensor<64xf32>, tensor<64xf32>
}

// Without a product of a warpgroup no thread is known to hold every eighth column.
// CHECK-LABEL: func.func @loaded
// CHECK: iter_args({{.*}}) -> (tensor<64xf32>)
func.func @loaded(%s: tensor<64x64xf32>, %m: tensor<64xf32>, %n: i32) -> tensor<64xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %none) -> (tensor<64xf32>) : i32 {
    %p = math.exp2 %s : tensor<64x64xf32>
    %f = math.exp2 %m : tensor<64xf32>
    %added = tile.reduce(%p) along 1 : (tensor<64x64xf32>) -> tensor<64xf32> {
    ^bb0(%x: f32, %y: f32):
      %xy = arith.addf %x, %y : f32
      tile.yield %xy : f32
    }
    %scaled = arith.mulf %sum, %f : tensor<64xf32>
    %next = arith.addf %scaled, %added : tensor<64xf32>
    scf.yield %next : tensor<64xf32>
  }
  return %r : tensor<64xf32>
}
