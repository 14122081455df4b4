// Per-thread accesses that do not fit.
// RUN: tandem-opt %s -split-input-file -verify-diagnostics

func.func @f(%p: !tile.ptr<f32>, %x: f32, %v: vector<4xf16>, %b: !tile.ptr<i8>, %c: i8) {
  // expected-error @+1 {{`simt.ld` cannot have order `release`; it is `relaxed` or `acquire`}}
  %0 = simt.ld release gpu %p : !tile.ptr<f32> -> f32
  return
}

// -----

func.func @f(%p: !tile.ptr<f32>, %x: f32, %v: vector<4xf16>, %b: !tile.ptr<i8>, %c: i8) {
  // expected-error @+1 {{`simt.ld` is weak and has order `acquire`}}
  %0 = simt.ld acquire gpu %p {weak} : !tile.ptr<f32> -> f32
  return
}

// -----

func.func @f(%p: !tile.ptr<f32>, %x: f32, %v: vector<4xf16>, %b: !tile.ptr<i8>, %c: i8) {
  // expected-error @+1 {{`simt.ld` accesses 'f16' through a pointer to 'f32'}}
  %0 = simt.ld relaxed gpu %p : !tile.ptr<f32> -> f16
  return
}

// -----

func.func @f(%p: !tile.ptr<f32>, %x: f32, %v: vector<4xf16>, %b: !tile.ptr<i8>, %c: i8) {
  // expected-error @+1 {{`simt.st` cannot have order `acquire`; it is `relaxed` or `release`}}
  simt.st acquire gpu %p, %x : !tile.ptr<f32>, f32
  return
}

// -----

func.func @f(%p: !tile.ptr<f32>, %x: f32, %v: vector<4xf16>, %b: !tile.ptr<i8>, %c: i8) {
  // expected-error @+1 {{`simt.st` accesses 'vector<4xf16>' through a pointer to 'f32'}}
  simt.st relaxed gpu %p, %v : !tile.ptr<f32>, vector<4xf16>
  return
}

// -----

func.func @f(%p: !tile.ptr<f32>, %x: f32, %v: vector<4xf16>, %b: !tile.ptr<i8>, %c: i8) {
  // expected-error @+1 {{`simt.atomic_rmw` cannot do atomic `xor` on elements of type 'f32'}}
  %0 = simt.atomic_rmw xor relaxed gpu %p, %x : !tile.ptr<f32>, f32 -> f32
  return
}

// -----

func.func @f(%p: !tile.ptr<f32>, %x: f32, %v: vector<4xf16>, %b: !tile.ptr<i8>, %c: i8) {
  // expected-error @+1 {{`simt.atomic_cas` cannot compare and swap elements of type 'i8'; they have 16, 32 or 64 bits}}
  %0 = simt.atomic_cas relaxed gpu %b, %c, %c : !tile.ptr<i8>, i8
  return
}

// -----

func.func @f(%p: !tile.ptr<f32>, %x: f32, %v: vector<4xf16>, %b: !tile.ptr<i8>, %c: i8) {
  // expected-error @+1 {{`simt.multimem_st` accesses 'vector<4xf16>' through a pointer to 'f32'}}
  simt.multimem_st %p, %v : !tile.ptr<f32>, vector<4xf16>
  return
}

// -----

func.func @f(%p: !tile.ptr<f32>, %x: f32, %v: vector<4xf16>, %b: !tile.ptr<i8>, %c: i8) {
  // expected-error @+1 {{`simt.multimem_ld_reduce` accesses 'f16' through a pointer to 'f32'}}
  %0 = simt.multimem_ld_reduce %p : !tile.ptr<f32> -> f16
  return
}
