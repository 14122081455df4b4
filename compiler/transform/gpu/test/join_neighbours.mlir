// RUN: tandem-opt --join-neighbours %s | FileCheck %s
// Tiles of addresses whose elements lie side by side are loaded and stored together.

// CHECK-LABEL: func.func @complex
// CHECK: %[[ROW:.*]] = tile.load {{.*}} : tensor<256x!tile.ptr<f32>> -> tensor<256xf32>
// CHECK: %[[TWO:.*]] = tile.reshape %[[ROW]] : tensor<256xf32> -> tensor<128x2xf32>
// CHECK: %[[RE:[^ ,]*]], %[[IM:[^ ]*]] = tile.split %[[TWO]]
// CHECK-NOT: tile.load
// CHECK: %[[A:.*]] = arith.addf %[[RE]], %[[IM]]
// CHECK: %[[B:.*]] = arith.subf %[[RE]], %[[IM]]
// CHECK: %[[JOINED:.*]] = tile.join %[[A]], %[[B]]
// CHECK: %[[FLAT:.*]] = tile.reshape %[[JOINED]] : tensor<128x2xf32> -> tensor<256xf32>
// CHECK: tile.store {{.*}}, %[[FLAT]] mask
// CHECK-NOT: tile.store
func.func @complex(%x: !tile.ptr<f32> {tile.multiple_of = 16 : i32}, %y: !tile.ptr<f32> {tile.multiple_of = 16 : i32}, %n: i32) attributes {tile.num_warps = 4 : i32} {
  %two = arith.constant dense<2> : tensor<128xi32>
  %one = arith.constant dense<1> : tensor<128xi32>
  %none = arith.constant 0.0 : f32
  %zero = tile.splat %none : f32 -> tensor<128xf32>
  %i = tile.make_range 0 to 128 : tensor<128xi32>
  %end = tile.splat %n : i32 -> tensor<128xi32>
  %mask = arith.cmpi slt, %i, %end : tensor<128xi32>
  %at = arith.muli %i, %two : tensor<128xi32>
  %next = arith.addi %at, %one : tensor<128xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %xs, %at : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %q = tile.addptr %p, %one : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %re = tile.load %p mask %mask : tensor<128xi1> other %zero : tensor<128xf32> : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
  %im = tile.load %q mask %mask : tensor<128xi1> other %zero : tensor<128xf32> : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
  %a = arith.addf %re, %im : tensor<128xf32>
  %b = arith.subf %re, %im : tensor<128xf32>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %r = tile.addptr %ys, %at : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %s = tile.addptr %ys, %next : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  tile.store %s, %b mask %mask : tensor<128xi1> : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  tile.store %r, %a mask %mask : tensor<128xi1> : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}

// Four bytes of a pixel; the elements' order is that of memory.
// CHECK-LABEL: func.func @pixel
// CHECK: %[[FOUR:.*]] = tile.load {{.*}} -> tensor<512xi8>
// CHECK: %[[PAIRS:.*]] = tile.reshape %[[FOUR]] : tensor<512xi8> -> tensor<128x2x2xi8>
// CHECK: %[[EVEN:[^ ,]*]], %[[ODD:[^ ]*]] = tile.split %[[PAIRS]]
// CHECK: %[[V0:[^ ,]*]], %[[V2:[^ ]*]] = tile.split %[[EVEN]]
// CHECK: %[[V1:[^ ,]*]], %[[V3:[^ ]*]] = tile.split %[[ODD]]
// CHECK: return %[[V0]], %[[V1]], %[[V2]], %[[V3]]
func.func @pixel(%x: !tile.ptr<i8> {tile.multiple_of = 16 : i32}) -> (tensor<128xi8>, tensor<128xi8>, tensor<128xi8>, tensor<128xi8>) attributes {tile.num_warps = 4 : i32} {
  %four = arith.constant dense<4> : tensor<128xi32>
  %one = arith.constant dense<1> : tensor<128xi32>
  %i = tile.make_range 0 to 128 : tensor<128xi32>
  %at = arith.muli %i, %four : tensor<128xi32>
  %xs = tile.splat %x : !tile.ptr<i8> -> tensor<128x!tile.ptr<i8>>
  %p0 = tile.addptr %xs, %at : tensor<128x!tile.ptr<i8>>, tensor<128xi32>
  %p1 = tile.addptr %p0, %one : tensor<128x!tile.ptr<i8>>, tensor<128xi32>
  %p2 = tile.addptr %p1, %one : tensor<128x!tile.ptr<i8>>, tensor<128xi32>
  %p3 = tile.addptr %p2, %one : tensor<128x!tile.ptr<i8>>, tensor<128xi32>
  %v0 = tile.load %p0 : tensor<128x!tile.ptr<i8>> -> tensor<128xi8>
  %v1 = tile.load %p1 : tensor<128x!tile.ptr<i8>> -> tensor<128xi8>
  %v2 = tile.load %p2 : tensor<128x!tile.ptr<i8>> -> tensor<128xi8>
  %v3 = tile.load %p3 : tensor<128x!tile.ptr<i8>> -> tensor<128xi8>
  return %v0, %v1, %v2, %v3 : tensor<128xi8>, tensor<128xi8>, tensor<128xi8>, tensor<128xi8>
}

// Addresses with other variable terms make another pair.
// CHECK-LABEL: func.func @places
// CHECK: %[[A:.*]] = tile.addptr {{.*}} : tensor<128x!tile.ptr<f32>>
// CHECK: %[[B:.*]] = tile.addptr {{.*}} : tensor<128x!tile.ptr<f32>>
// CHECK: tile.expand_dims %[[A]] at 1
// CHECK: %[[P:[^ ,]*]], %[[Q:[^ ]*]] = tile.split
// CHECK: tile.expand_dims %[[B]] at 1
// CHECK: %[[R:[^ ,]*]], %[[S:[^ ]*]] = tile.split
// CHECK: return %[[P]], %[[Q]], %[[R]], %[[S]]
func.func @places(%x: !tile.ptr<f32> {tile.multiple_of = 16 : i32}, %i: tensor<128xi32>, %j: tensor<128xi32>) -> (tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>) attributes {tile.num_warps = 4 : i32} {
  %two = arith.constant dense<2> : tensor<128xi32>
  %one = arith.constant dense<1> : tensor<128xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %iAt = arith.muli %i, %two : tensor<128xi32>
  %jAt = arith.muli %j, %two : tensor<128xi32>
  %p = tile.addptr %xs, %iAt : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %r = tile.addptr %xs, %jAt : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %0 = tile.load %p : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
  %q = tile.addptr %p, %one : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %1 = tile.load %q : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
  %s = tile.addptr %r, %one : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %2 = tile.load %r : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
  %3 = tile.load %s : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
  return %0, %1, %2, %3 : tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>
}

// Nothing is joined of neighbours in one tile (a stencil), of addresses that are not aligned for both, of fewer elements than threads,
// across a write, or of different masks.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: tile.split
// CHECK-NOT: tile.join
func.func @apart(%x: !tile.ptr<f32> {tile.multiple_of = 16 : i32}, %y: !tile.ptr<f32>, %m: tensor<128xi1>) -> (tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<64xf32>, tensor<64xf32>) attributes {tile.num_warps = 4 : i32} {
  %two = arith.constant dense<2> : tensor<128xi32>
  %one = arith.constant dense<1> : tensor<128xi32>
  %few = arith.constant dense<2> : tensor<64xi32>
  %fewOne = arith.constant dense<1> : tensor<64xi32>
  %i = tile.make_range 0 to 128 : tensor<128xi32>
  %j = tile.make_range 0 to 64 : tensor<64xi32>
  %at = arith.muli %i, %two : tensor<128xi32>
  %fewAt = arith.muli %j, %few : tensor<64xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %zs = tile.splat %x : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %p = tile.addptr %xs, %i : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %q = tile.addptr %p, %one : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %0 = tile.load %p : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
  %1 = tile.load %q : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
  %r = tile.addptr %ys, %at : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %s = tile.addptr %r, %one : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  tile.store %r, %0 : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  tile.store %s, %1 : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  %t = tile.addptr %xs, %at : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %u = tile.addptr %t, %one : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %2 = tile.load %t : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
  tile.store %r, %2 : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  %3 = tile.load %u : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
  tile.store %t, %2 mask %m : tensor<128xi1> : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  tile.store %u, %3 : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  %v = tile.addptr %zs, %fewAt : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %w = tile.addptr %v, %fewOne : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %4 = tile.load %v : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
  %5 = tile.load %w : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<64xf32>, tensor<64xf32>
}

// Stores of one place stay in their order, with what is between them.
// CHECK-LABEL: func.func @order
// CHECK: tile.store %{{.*}}, %arg1
// CHECK: tile.store %{{.*}}, %arg3
// CHECK: tile.store %{{.*}}, %arg2
func.func @order(%x: !tile.ptr<f32> {tile.multiple_of = 16 : i32}, %a: tensor<128xf32>, %b: tensor<128xf32>, %c: tensor<128xf32>) attributes {tile.num_warps = 4 : i32} {
  %two = arith.constant dense<2> : tensor<128xi32>
  %one = arith.constant dense<1> : tensor<128xi32>
  %i = tile.make_range 0 to 128 : tensor<128xi32>
  %at = arith.muli %i, %two : tensor<128xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %xs, %at : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %q = tile.addptr %p, %one : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %r = tile.addptr %p, %two : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  tile.store %p, %a : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  tile.store %r, %c : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  tile.store %q, %b : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}
