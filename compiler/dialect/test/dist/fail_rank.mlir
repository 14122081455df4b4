// A multicast address keeps its pointee.
// RUN: tandem-opt %s -split-input-file -verify-diagnostics

func.func @f(%t: i32, %p: !tile.ptr<f32>) {
  // expected-error @+1 {{`dist.multicast_at` gives '!tile.ptr<f16>' for a pointer of type '!tile.ptr<f32>'}}
  %0 = dist.multicast_at %p over %t : !tile.ptr<f32> -> !tile.ptr<f16>
  return
}
