// Indices, barriers and lane exchange that do not fit.
// RUN: tandem-opt %s -split-input-file -verify-diagnostics

func.func @f() {
  // expected-error @+1 {{`simt.tid` axis 3 is outside 0 to 2}}
  %0 = simt.tid 3
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{`simt.ntid` axis -1 is outside 0 to 2}}
  %0 = simt.ntid -1
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{`simt.special` result has type 'i8', not i32 or i64}}
  %0 = simt.special clock : i8
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{`simt.named_barrier` has id 16, outside 0 to 15}}
  simt.named_barrier 16 of 128
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{`simt.named_barrier` is for 100 threads, not a multiple of 32 up to 1024}}
  simt.named_barrier 1 of 100
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{`simt.fence` cannot have order `relaxed`; it is `acquire`, `release`, `acq_rel` or `sc`}}
  simt.fence relaxed gpu
  return
}

// -----

func.func @f(%m: i32, %x: f64) {
  // expected-error @+1 {{`simt.shuffle` value has type 'f64', not 32 bits}}
  %0 = simt.shuffle idx %x, %m mask %m : f64 -> f64
  return
}

// -----

func.func @f(%m: i32, %x: f32) {
  // expected-error @+1 {{`simt.shuffle` takes 'f32' and gives 'i32'}}
  %0 = simt.shuffle idx %x, %m mask %m : f32 -> i32
  return
}
