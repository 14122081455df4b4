// Signals are 64-bit, or 32-bit for wait.
// RUN: tandem-opt %s -split-input-file -verify-diagnostics

func.func @f(%f: !tile.ptr<i64>, %g: !tile.ptr<i32>, %h: !tile.ptr<i16>, %n: i64, %i: i32, %s: i16) {
  // expected-error @+1 {{`dist.wait` signal has type 'i16', not i32 or i64}}
  %0 = dist.wait acquire sys %h[%i] eq %s : !tile.ptr<i16>, i16
  return
}

// -----

func.func @f(%f: !tile.ptr<i64>, %g: !tile.ptr<i32>, %h: !tile.ptr<i16>, %n: i64, %i: i32, %s: i16) {
  // expected-error @+1 {{`dist.wait` compares a signal of type 'i64' with a value of type 'i32'}}
  %0 = dist.wait acquire sys %f[%i] eq %i : !tile.ptr<i64>, i32
  return
}

// -----

func.func @f(%f: !tile.ptr<i64>, %g: !tile.ptr<i32>, %h: !tile.ptr<i16>, %n: i64, %i: i32, %s: i16) {
  // expected-error @+1 {{`dist.wait` only reads; `release` orders writes}}
  %0 = dist.wait release sys %f[%i] eq %n : !tile.ptr<i64>, i64
  return
}

// -----

func.func @f(%f: !tile.ptr<i64>, %g: !tile.ptr<i32>, %h: !tile.ptr<i16>, %n: i64, %i: i32, %s: i16) {
  // expected-error @+1 {{`dist.notify` signal has type 'i32', not i64}}
  dist.notify set gpu %g, %n on %i : !tile.ptr<i32>
  return
}

// -----

func.func @f(%f: !tile.ptr<i64>, %g: !tile.ptr<i32>, %h: !tile.ptr<i16>, %n: i64, %i: i32, %s: i16) {
  // expected-error @+1 {{`dist.signal` signal has type 'i32', not i64}}
  dist.signal set %g, %n on %i : !tile.ptr<i32>
  return
}

// -----

func.func @f(%f: !tile.ptr<i64>, %g: !tile.ptr<i32>, %h: !tile.ptr<i16>, %n: i64, %i: i32, %s: i16) {
  // expected-error @+1 {{`dist.signal_wait_until` signal has type 'i16', not i32 or i64}}
  %0 = dist.signal_wait_until %h eq %n : !tile.ptr<i16>
  return
}

// -----

func.func @slices(%p: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64) {
  // expected-error @+1 {{`dist.arriving` has 1 numbers of slices: the elements of a row and those of a slice are needed}}
  %0 = dist.arriving %p by %words[%n x %n] in %n at %n : !tile.ptr<f32>, !tile.ptr<i64>, i64
  return
}

// -----

func.func @parts(%p: !tile.ptr<f32>, %q: !tile.ptr<f16>, %words: !tile.ptr<i64>, %n: i64) {
  // expected-error @+1 {{`dist.leaving` adds parts of type '!tile.ptr<f16>' to '!tile.ptr<f32>'}}
  %0 = dist.leaving %p by %words[%n x %n] plus %q when %words[%n] : !tile.ptr<f32>, !tile.ptr<i64>, !tile.ptr<f16>, !tile.ptr<i64>
  return
}

// -----

func.func @parts(%p: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64) {
  // expected-error @+1 {{`dist.leaving` has parts, but no words that say when they are there}}
  %0 = dist.leaving %p by %words[%n x %n] plus %p : !tile.ptr<f32>, !tile.ptr<i64>, !tile.ptr<f32>
  return
}

// -----

func.func @parts(%p: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64) {
  // expected-error @+1 {{`dist.leaving` counts what is stored in '!tile.ptr<f32>', not in i32}}
  %0 = dist.leaving %p by %words[%n x %n] plus %p counted : !tile.ptr<f32>, !tile.ptr<i64>, !tile.ptr<f32>
  return
}
