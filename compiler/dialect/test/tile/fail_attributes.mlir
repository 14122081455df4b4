// RUN: tandem-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{has an unknown attribute `tile.num_warp`}}
func.func @unknown() attributes {tile.num_warp = 4 : i32} { return }
// -----
// expected-error @+1 {{`tile.num_warps` is a positive 32-bit number}}
func.func @none() attributes {tile.num_warps = 0 : i32} { return }
// -----
// expected-error @+1 {{`tile.num_warps` is a positive 32-bit number}}
func.func @wide() attributes {tile.num_warps = 4 : i64} { return }
// -----
func.func @misplaced(%x: i32) {
  // expected-error @+1 {{`tile.num_warps` stands at a kernel only}}
  %0 = arith.addi %x, %x {tile.num_warps = 4 : i32} : i32
  return
}
// -----
// expected-error @+1 {{`tile.num_stages` is a 32-bit number from 0 on}}
func.func @stages() attributes {tile.num_stages = -1 : i32} { return }
// -----
// expected-error @+1 {{`tile.maxnreg` is a positive 32-bit number}}
func.func @registers() attributes {tile.maxnreg = "64"} { return }
// -----
func.func @hint(%x: i32) {
  // expected-error @+1 {{`tile.flatten` stands at a loop only}}
  %0 = arith.addi %x, %x {tile.flatten = true} : i32
  return
}
// -----
func.func @negative(%x: i32) {
  // expected-error @+1 {{`tile.divisibility` is an array of positive 32-bit numbers}}
  %0 = arith.addi %x, %x {tile.divisibility = array<i32: -8>} : i32
  return
}
// -----
func.func @store(%p: !tile.ptr<i32>, %x: i32) {
  // expected-error @+1 {{`tile.contiguity` stands at an op with one result only}}
  tile.store %p, %x {tile.contiguity = array<i32: 8>} : !tile.ptr<i32>, i32
  return
}
// -----
func.func @sum(%x: f32) {
  // expected-error @+1 {{`tile.precise` stands at a division or a square root only}}
  %0 = arith.addf %x, %x {tile.precise} : f32
  return
}
// -----
// expected-error @+1 {{`tile.name` is a text}}
func.func @name(%x: i32 {tile.name = 1 : i32}) { return }
// -----
// expected-error @+1 {{`tile.multiple_of` is a positive 32-bit number}}
func.func @multiple(%x: i32 {tile.multiple_of = 0 : i32}) { return }
// -----
// expected-error @+1 {{has an unknown attribute `tile.num_warps`}}
func.func @parameter(%x: i32 {tile.num_warps = 4 : i32}) { return }
