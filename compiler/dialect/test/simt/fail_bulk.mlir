// Bulk copies, tensor maps and fences that do not fit.
// RUN: tandem-opt %s -split-input-file -verify-diagnostics

func.func @f(%m: !tile.ptr<i8>, %b: !tile.ptr<i64>, %i: i32) {
  // expected-error @+1 {{`simt.tma_load` has 6 coordinates, not 1 to 5}}
  simt.tma_load %m[%i, %i, %i, %i, %i, %i] to %m, %b : !tile.ptr<i8>, !tile.ptr<i8>, !tile.ptr<i64>
  return
}

// -----

func.func @f(%m: !tile.ptr<i8>) {
  // expected-error @+1 {{`simt.tma_store` has 0 coordinates, not 1 to 5}}
  simt.tma_store %m to %m[] : !tile.ptr<i8>, !tile.ptr<i8>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{`simt.bulk_wait` waits for all but -1 groups}}
  simt.bulk_wait -1
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{`simt.copy_wait` waits for all but -1 groups}}
  simt.copy_wait -1
  return
}

// -----

func.func @f(%m: !tile.ptr<i8>) {
  // expected-error @+1 {{`simt.copy_async` copies 12 bytes, not 4, 8 or 16}}
  simt.copy_async %m to %m, 12 : !tile.ptr<i8>, !tile.ptr<i8>
  return
}

// -----

func.func @f(%m: !tile.ptr<i8>, %i: i32) {
  // expected-error @+1 {{`simt.tensormap_replace` ordinal 5 of `box_dim` is outside 0 to 4}}
  simt.tensormap_replace box_dim 5 %m, %i : !tile.ptr<i8>, i32
  return
}

// -----

func.func @f(%m: !tile.ptr<i8>, %i: i64) {
  // expected-error @+1 {{`simt.tensormap_replace` ordinal 4 of `global_stride` is outside 0 to 3}}
  simt.tensormap_replace global_stride 4 %m, %i : !tile.ptr<i8>, i64
  return
}

// -----

func.func @f(%m: !tile.ptr<i8>, %i: i32) {
  // expected-error @+1 {{`simt.tensormap_replace` value of `global_address` has type 'i32', not 'i64'}}
  simt.tensormap_replace global_address 0 %m, %i : !tile.ptr<i8>, i32
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{`simt.proxy_fence` `tensormap_acquire` needs a tensor map}}
  simt.proxy_fence tensormap_acquire
  return
}

// -----

func.func @f(%m: !tile.ptr<i8>) {
  // expected-error @+1 {{`simt.proxy_fence` `async` has no tensor map}}
  simt.proxy_fence async %m : !tile.ptr<i8>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{`simt.smem_alloc` has a swizzle that is not three powers of two}}
  %0 = simt.smem_alloc {swizzle = array<i32: 8, 3, 8>} -> !tile.smem<4x64xf16>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{`simt.smem_alloc` has a swizzle of 8 phases of 8 elements in rows of 32}}
  %0 = simt.smem_alloc {swizzle = array<i32: 8, 1, 8>} -> !tile.smem<4x32xf16>
  return
}
