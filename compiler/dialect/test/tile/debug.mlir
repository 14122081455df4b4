// Round trip of printing, assertions and promises.
// RUN: tandem-opt %s | tandem-opt | FileCheck %s
// RUN: tandem-opt %s --mlir-print-op-generic | tandem-opt | FileCheck %s

func.func @debug(%c: i1, %cs: tensor<8xi1>, %x: tensor<8xi32>) {
  // CHECK: tile.print "hello" {hex = false, isSigned = array<i1>}
  tile.print "hello" {hex = false, isSigned = array<i1>}
  // CHECK: tile.print "x = " {hex = true, isSigned = array<i1: true, false>} : %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : tensor<8xi32>, i1
  tile.print "x = " {hex = true, isSigned = array<i1: true, false>} : %x, %c : tensor<8xi32>, i1
  // CHECK: tile.assert %{{[a-z0-9]+}}, "x is small" mask %{{[a-z0-9]+}} : tensor<8xi1> : tensor<8xi1>
  tile.assert %cs, "x is small" mask %cs : tensor<8xi1> : tensor<8xi1>
  // CHECK: tile.assert %{{[a-z0-9]+}}, "c" : i1
  tile.assert %c, "c" : i1
  // CHECK: tile.assume %{{[a-z0-9]+}}
  tile.assume %c
  return
}
