// Printing and assertions that do not fit.
// RUN: tandem-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: i32) {
  // expected-error @+1 {{`tile.print` has 1 values but 0 signs}}
  tile.print "x" {hex = false, isSigned = array<i1>} : %x : i32
  return
}

// -----

func.func @f(%x: i32) {
  // expected-error @+1 {{`tile.assert` condition has type 'i32', not i1}}
  tile.assert %x, "x" : i32
  return
}

// -----

func.func @f(%x: tensor<8xi1>, %m: i1) {
  // expected-error @+1 {{`tile.assert` mask has shape scalar but what it masks has shape 8}}
  tile.assert %x, "x" mask %m : i1 : tensor<8xi1>
  return
}
