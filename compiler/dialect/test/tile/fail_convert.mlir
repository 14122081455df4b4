// Pointers and conversions whose types do not fit.
// RUN: tandem-opt %s -split-input-file -verify-diagnostics

func.func @f(%p: !tile.ptr<f16>, %i: i8) {
  // expected-error @+1 {{`tile.addptr` offset has type 'i8', not i32 or i64}}
  %0 = tile.addptr %p, %i : !tile.ptr<f16>, i8
  return
}

// -----

func.func @f(%p: tensor<8x!tile.ptr<f16>>, %i: i32) {
  // expected-error @+1 {{`tile.addptr` has shapes 8 and scalar}}
  %0 = tile.addptr %p, %i : tensor<8x!tile.ptr<f16>>, i32
  return
}

// -----

func.func @f(%p: !tile.ptr<f16>) {
  // expected-error @+1 {{`tile.ptr_to_int` address has type 'i32', not i64}}
  %0 = tile.ptr_to_int %p : !tile.ptr<f16> -> i32
  return
}

// -----

func.func @f(%p: tensor<8xi64>) {
  // expected-error @+1 {{`tile.int_to_ptr` has shapes scalar and 8}}
  %0 = tile.int_to_ptr %p : tensor<8xi64> -> !tile.ptr<f16>
  return
}

// -----

func.func @f(%p: tensor<?xf32>) {
  // expected-error @+1 {{`tile.bitcast` has shapes ? and ?}}
  %0 = tile.bitcast %p : tensor<?xf32> -> tensor<?xi32>
  return
}

// -----

func.func @f(%p: i64) {
  // expected-error @+1 {{`tile.bitcast` has elements of 64 and 32 bits}}
  %0 = tile.bitcast %p : i64 -> f32
  return
}

// -----

func.func @f(%p: i64) {
  // expected-error @+1 {{`tile.bitcast` cannot turn 'i64' into '!tile.ptr<f32>'; both are numbers or both are pointers}}
  %0 = tile.bitcast %p : i64 -> !tile.ptr<f32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>) {
  // expected-error @+1 {{`tile.fp_to_fp` has shapes 4 and 8}}
  %0 = tile.fp_to_fp %p : tensor<4xf32> -> tensor<8xf16>
  return
}

// -----

func.func @f(%p: tensor<4xf32>) {
  // expected-error @+1 {{`tile.extern_elementwise` has an operand of shape 4 and a result of shape scalar}}
  %0 = tile.extern_elementwise "f"(%p) : (tensor<4xf32>) -> f32
  return
}

// -----

func.func @f(%p: tensor<4xf32>) {
  // expected-error @+1 {{`tile.inline_asm` packs 0 elements}}
  %0 = tile.inline_asm "x", "=r"(%p) {pack = 0 : i32, pure = true} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>) {
  // expected-error @+1 {{`tile.inline_asm` has values of shape 4 and 8}}
  %0 = tile.inline_asm "x", "=r"(%p) {pack = 1 : i32, pure = true} : (tensor<4xf32>) -> tensor<8xf32>
  return
}
