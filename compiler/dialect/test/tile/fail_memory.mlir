// Accesses whose types do not fit their pointers.
// RUN: tandem-opt %s -split-input-file -verify-diagnostics

func.func @f(%p: !tile.ptr<f32>) {
  // expected-error @+1 {{`tile.load` result has type 'f16' but its pointer gives 'f32'}}
  %0 = tile.load %p : !tile.ptr<f32> -> f16
  return
}

// -----

func.func @f(%p: tensor<8x!tile.ptr<f32>>, %m: tensor<4xi1>) {
  // expected-error @+1 {{`tile.load` mask has shape 4 but what it masks has shape 8}}
  %0 = tile.load %p mask %m : tensor<4xi1> : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
  return
}

// -----

func.func @f(%p: tensor<8x!tile.ptr<f32>>, %m: tensor<8xi8>) {
  // expected-error @+1 {{`tile.load` mask has type 'tensor<8xi8>', not i1}}
  %0 = tile.load %p mask %m : tensor<8xi8> : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
  return
}

// -----

func.func @f(%p: !tile.ptr<f32>, %o: f32) {
  // expected-error @+1 {{`tile.load` has `other` but no mask}}
  %0 = tile.load %p other %o : f32 : !tile.ptr<f32> -> f32
  return
}

// -----

func.func @f(%p: !tile.ptr<f32>, %m: i1, %o: f16) {
  // expected-error @+1 {{`tile.load` `other` has type 'f16' but the result 'f32'}}
  %0 = tile.load %p mask %m : i1 other %o : f16 : !tile.ptr<f32> -> f32
  return
}

// -----

func.func @f(%p: !tile.ptr<f32>) {
  // expected-error @+1 {{`tile.load` cannot read with cache operator `wb`}}
  %0 = tile.load %p {cache = #tile<cache wb>} : !tile.ptr<f32> -> f32
  return
}

// -----

func.func @f(%p: !tile.ptr<f32>, %x: f64) {
  // expected-error @+1 {{`tile.store` value has type 'f64' but its pointer gives 'f32'}}
  tile.store %p, %x : !tile.ptr<f32>, f64
  return
}

// -----

func.func @f(%p: !tile.ptr<f32>, %x: f32) {
  // expected-error @+1 {{`tile.store` cannot write with cache operator `ca`}}
  tile.store %p, %x {cache = #tile<cache ca>} : !tile.ptr<f32>, f32
  return
}

// -----

func.func @f(%p: !tile.ptr<f32>, %x: f32) {
  // expected-error @+1 {{`tile.atomic_rmw` cannot do atomic `add` on elements of type 'f32'}}
  %0 = tile.atomic_rmw add relaxed gpu %p, %x : !tile.ptr<f32>, f32 -> f32
  return
}

// -----

func.func @f(%p: !tile.ptr<i8>, %x: i8) {
  // expected-error @+1 {{`tile.atomic_rmw` cannot do atomic `add` on elements of type 'i8'}}
  %0 = tile.atomic_rmw add relaxed gpu %p, %x : !tile.ptr<i8>, i8 -> i8
  return
}

// -----

func.func @f(%p: !tile.ptr<f16>, %x: f16) {
  // expected-error @+1 {{`tile.atomic_rmw` cannot do atomic `max` on elements of type 'f16'}}
  %0 = tile.atomic_rmw max relaxed gpu %p, %x : !tile.ptr<f16>, f16 -> f16
  return
}

// -----

func.func @f(%p: !tile.ptr<i32>, %x: i64) {
  // expected-error @+1 {{`tile.atomic_rmw` value has type 'i64' but its pointer gives 'i32'}}
  %0 = tile.atomic_rmw add relaxed gpu %p, %x : !tile.ptr<i32>, i64 -> i32
  return
}

// -----

func.func @f(%p: !tile.ptr<i8>, %x: i8) {
  // expected-error @+1 {{`tile.atomic_cas` cannot compare and swap elements of type 'i8'; they have 16, 32 or 64 bits}}
  %0 = tile.atomic_cas relaxed gpu %p, %x, %x : !tile.ptr<i8>, i8
  return
}
