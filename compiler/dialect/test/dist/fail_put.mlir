// Puts whose types do not fit.
// RUN: tandem-opt %s -split-input-file -verify-diagnostics

func.func @f(%p: !tile.ptr<f32>, %n: i64, %r: i32) {
  // expected-error @+1 {{`dist.put_value` value has type 'i64' but its pointer gives 'f32'}}
  dist.put_value %p, %n on %r : !tile.ptr<f32>, i64
  return
}

// -----

func.func @f(%p: !tile.ptr<i32>, %n: i64, %r: i32) {
  // expected-error @+1 {{`dist.put_signal` signal has type 'i32', not i64}}
  dist.put_signal block %p, %p, %n then set %p, %n on %r : !tile.ptr<i32>, !tile.ptr<i32>, !tile.ptr<i32>
  return
}
