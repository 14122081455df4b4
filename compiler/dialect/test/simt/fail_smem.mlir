// Shared-memory buffers used with another shape or element.
// RUN: tandem-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<4xf16>) {
  // expected-error @+1 {{`simt.smem_alloc` has a tile of type 'tensor<4xf16>' for a buffer of 'tensor<8xf16>'}}
  %0 = simt.smem_alloc %x : tensor<4xf16> -> !tile.smem<8xf16>
  return
}

// -----

func.func @f(%b: !tile.smem<4x32xf16>, %i: i32, %e: f32) {
  // expected-error @+1 {{`simt.smem_read` has a tile of type 'tensor<32xf16>' for a buffer of 'tensor<4x32xf16>'}}
  %0 = simt.smem_read %b : !tile.smem<4x32xf16> -> tensor<32xf16>
  return
}

// -----

func.func @f(%b: !tile.smem<4x32xf16>, %i: i32, %e: f32) {
  // expected-error @+1 {{`simt.smem_load` has 1 indices into a buffer of rank 2}}
  %0 = simt.smem_load %b[%i] : !tile.smem<4x32xf16> -> f16
  return
}

// -----

func.func @f(%b: !tile.smem<4x32xf16>, %i: i32, %e: f32) {
  // expected-error @+1 {{`simt.smem_store` accesses 'f32' in a buffer of 'f16'}}
  simt.smem_store %e, %b[%i, %i] : f32, !tile.smem<4x32xf16>
  return
}

// -----

func.func @f(%b: !tile.smem<4x32xf16>, %i: i32, %e: f32) {
  // expected-error @+1 {{`simt.smem_index` result has type '!tile.smem<4xf16>' but its buffer gives '!tile.smem<32xf16>'}}
  %0 = simt.smem_index %b[%i] : !tile.smem<4x32xf16> -> !tile.smem<4xf16>
  return
}

// -----

func.func @f(%b: !tile.smem<4x32xf16>, %i: i32, %e: f32) {
  // expected-error @+1 {{`simt.smem_ptr` accesses 'f32' in a buffer of 'f16'}}
  %0 = simt.smem_ptr %b[%i, %i] : !tile.smem<4x32xf16> -> !tile.ptr<f32>
  return
}
