// Per-thread vectors that do not fit.
// RUN: tandem-opt %s -split-input-file -verify-diagnostics

func.func @f(%a: i32) {
  // expected-error @+1 {{`simt.vector` has 2 elements but its result has type 'vector<4xi32>'}}
  %0 = simt.vector %a, %a : i32, i32 -> vector<4xi32>
  return
}

// -----

func.func @f(%a: i32) {
  // expected-error @+1 {{`simt.vector` has an element of type 'i32' in a vector of 'f32'}}
  %0 = simt.vector %a, %a : i32, i32 -> vector<2xf32>
  return
}

// -----

func.func @f(%v: vector<4xi32>) {
  // expected-error @+1 {{`simt.vector_extract` index 4 is outside 0 to 3}}
  %0 = simt.vector_extract %v[4] : vector<4xi32> -> i32
  return
}

// -----

func.func @f(%v: vector<4xi32>) {
  // expected-error @+1 {{`simt.vector_extract` gives 'f32' from a vector of 'i32'}}
  %0 = simt.vector_extract %v[0] : vector<4xi32> -> f32
  return
}

// -----

func.func @f(%v: vector<4xi32>) {
  // expected-error @+1 {{`simt.vector_bitcast` has 128 bits and gives 64}}
  %0 = simt.vector_bitcast %v : vector<4xi32> -> i64
  return
}
