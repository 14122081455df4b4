// Shapes that do not fit.
// RUN: tandem-opt %s -split-input-file -verify-diagnostics

func.func @f() {
  // expected-error @+1 {{`tile.make_range` has 12 integers, not a power of two}}
  %0 = tile.make_range 0 to 12 : tensor<12xi32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{`tile.make_range` has 0 integers, not a power of two}}
  %0 = tile.make_range 8 to 8 : tensor<8xi32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{`tile.make_range` has 8 integers but its result 4}}
  %0 = tile.make_range 0 to 8 : tensor<4xi32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{`tile.make_range` result has type 'tensor<8xi64>', not a row of i32}}
  %0 = tile.make_range 0 to 8 : tensor<8xi64>
  return
}

// -----

func.func @f(%s: i32) {
  // expected-error @+1 {{`tile.splat` has elements of type 'i32' and 'f32'}}
  %0 = tile.splat %s : i32 -> tensor<8xf32>
  return
}

// -----

func.func @f(%s: tensor<4xf32>) {
  // expected-error @+1 {{`tile.splat` source has type 'tensor<4xf32>', not a scalar}}
  %0 = tile.splat %s : tensor<4xf32> -> tensor<8xf32>
  return
}

// -----

func.func @f(%r: tensor<4xf32>) {
  // expected-error @+1 {{`tile.expand_dims` axis 2 is outside 0 to 1}}
  %0 = tile.expand_dims %r at 2 : tensor<4xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @f(%r: tensor<4xf32>) {
  // expected-error @+1 {{`tile.expand_dims` result has type 'tensor<4x1xf32>' but its operands give 'tensor<1x4xf32>'}}
  %0 = tile.expand_dims %r at 0 : tensor<4xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @f(%r: tensor<2x4xf32>) {
  // expected-error @+1 {{`tile.broadcast` cannot repeat dimension 0 of size 2 to size 8; only size 1 repeats}}
  %0 = tile.broadcast %r : tensor<2x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%r: tensor<4xf32>) {
  // expected-error @+1 {{`tile.broadcast` has tiles of rank 1 and 2}}
  %0 = tile.broadcast %r : tensor<4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%r: tensor<1x4xf32>) {
  // expected-error @+1 {{`tile.broadcast` has elements of type 'f32' and 'f16'}}
  %0 = tile.broadcast %r : tensor<1x4xf32> -> tensor<8x4xf16>
  return
}

// -----

func.func @f(%r: tensor<4x8xf32>) {
  // expected-error @+1 {{`tile.reshape` cannot make 32 elements (4x8) into 16 (16)}}
  %0 = tile.reshape %r : tensor<4x8xf32> -> tensor<16xf32>
  return
}

// -----

func.func @f(%r: tensor<4x8xf32>) {
  // expected-error @+1 {{`tile.permute` order has 1 entries but its source has rank 2}}
  %0 = tile.permute %r [0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%r: tensor<4x8xf32>) {
  // expected-error @+1 {{`tile.permute` order names dimension 0 twice}}
  %0 = tile.permute %r [0, 0] : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%r: tensor<4x8xf32>) {
  // expected-error @+1 {{`tile.permute` axis 2 is outside 0 to 1}}
  %0 = tile.permute %r [0, 2] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%r: tensor<4x8xf32>) {
  // expected-error @+1 {{`tile.permute` result has type 'tensor<4x8xf32>' but its operands give 'tensor<8x4xf32>'}}
  %0 = tile.permute %r [1, 0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%r: tensor<4xf32>) {
  // expected-error @+1 {{`tile.join` result has type 'tensor<2x4xf32>' but its operands give 'tensor<4x2xf32>'}}
  %0 = tile.join %r, %r : tensor<4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%r: tensor<2x4xf32>) {
  // expected-error @+1 {{`tile.split` source has shape 2x4; its last dimension is not 2}}
  %0, %1 = tile.split %r : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @f(%r: tensor<2x4xf32>, %q: tensor<2x8xf32>) {
  // expected-error @+1 {{`tile.cat` has tiles of shape 2x4 and 2x8; they may differ in dimension 0 only}}
  %0 = tile.cat %r, %q : tensor<2x4xf32>, tensor<2x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%r: tensor<2x4xf32>, %i: tensor<2x8xi32>) {
  // expected-error @+1 {{`tile.gather` source and indices have sizes 4 and 8 in dimension 1}}
  %0 = tile.gather %r[%i] along 0 : tensor<2x4xf32>, tensor<2x8xi32> -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%r: tensor<4xf32>, %i: tensor<8xi8>) {
  // expected-error @+1 {{`tile.gather` indices have type 'i8', not i32 or i64}}
  %0 = tile.gather %r[%i] along 0 : tensor<4xf32>, tensor<8xi8> -> tensor<8xf32>
  return
}

// -----

func.func @f(%r: tensor<4xf32>, %i: tensor<8xi32>) {
  // expected-error @+1 {{`tile.gather` axis 1 is outside 0 to 0}}
  %0 = tile.gather %r[%i] along 1 : tensor<4xf32>, tensor<8xi32> -> tensor<8xf32>
  return
}

// -----

func.func @f(%r: tensor<4xf32>) {
  // expected-error @+1 {{`tile.histogram` source has type 'tensor<4xf32>', not a row of integers}}
  %0 = tile.histogram %r : tensor<4xf32> -> tensor<8xi32>
  return
}

// -----

func.func @f(%r: tensor<4xi32>, %m: tensor<8xi1>) {
  // expected-error @+1 {{`tile.histogram` mask has shape 8 but what it masks has shape 4}}
  %0 = tile.histogram %r mask %m : tensor<8xi1> : tensor<4xi32> -> tensor<8xi32>
  return
}
