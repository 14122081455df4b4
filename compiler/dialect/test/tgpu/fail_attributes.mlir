// RUN: tandem-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{has an unknown attribute `tgpu.block`}}
func.func @unknown() attributes {tgpu.block = 2 : i32} { return }
// -----
// expected-error @+1 {{`tgpu.blocks` is a positive 32-bit number}}
func.func @none() attributes {tgpu.blocks = 0 : i32} { return }
// -----
// expected-error @+1 {{`tgpu.longest_first` is an axis of the grid, 0 to 2}}
func.func @axis() attributes {tgpu.longest_first = 3 : i32} { return }
// -----
func.func @layouts(%x: f32) {
  // expected-error @+1 {{`tgpu.layout` is an array with a layout for each result}}
  %0 = tile.splat %x {tgpu.layout = []} : f32 -> tensor<32xf32>
  return
}
// -----
func.func @before(%x: f32) {
  // expected-error @+1 {{`tgpu.before_layout` stands at a while loop only}}
  %0 = tile.splat %x {tgpu.before_layout = [unit]} : f32 -> tensor<32xf32>
  return
}
// -----
func.func @neighbours(%p: !tile.ptr<f32>) {
  // expected-error @+1 {{`tgpu.vector` is an array of two 32-bit numbers}}
  %0 = tile.load %p {tgpu.vector = array<i32: 4>} : !tile.ptr<f32> -> f32
  return
}
// -----
func.func @sum(%x: f32) {
  // expected-error @+1 {{`tgpu.mma` stands at a product only}}
  %0 = arith.addf %x, %x {tgpu.mma} : f32
  return
}
// -----
func.func @pure(%x: f32) {
  // expected-error @+1 {{`tgpu.whole` stands at an op with effects only}}
  %0 = arith.addf %x, %x {tgpu.whole} : f32
  return
}
// -----
func.func @bulk(%p: !tile.ptr<f32>) {
  // expected-error @+1 {{`tgpu.tma` stands at a block store only}}
  %0 = tile.load %p {tgpu.tma} : !tile.ptr<f32> -> f32
  return
}
// -----
func.func @parts(%t: tensor<64xf32>, %p: !tile.ptr<f32>, %n: i64, %o: i32) {
  // expected-error @+1 {{`tgpu.own_part` is an array of two 64-bit numbers}}
  tile.block_store %t, %p shape (%n) strides (%n) at (%o) check [] {tgpu.own_part = array<i64: 1>} : tensor<64xf32>, !tile.ptr<f32>
  return
}
// -----
func.func @pairs(%t: tensor<64xf32>, %p: !tile.ptr<f32>, %n: i64, %o: i32) {
  // expected-error @+1 {{`tgpu.uncertain` is an array of pairs of 64-bit numbers}}
  tile.block_store %t, %p shape (%n) strides (%n) at (%o) check [] {tgpu.uncertain = array<i64: 0>} : tensor<64xf32>, !tile.ptr<f32>
  return
}
