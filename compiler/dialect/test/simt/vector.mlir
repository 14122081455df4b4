// Round trip of per-thread vectors.
// RUN: tandem-opt %s | tandem-opt | FileCheck %s
// RUN: tandem-opt %s --mlir-print-op-generic | tandem-opt | FileCheck %s

func.func @vector(%a: i32, %v: vector<4xi32>) {
  // CHECK: simt.vector %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : i32, i32 -> vector<2xi32>
  %0 = simt.vector %a, %a : i32, i32 -> vector<2xi32>
  // CHECK: simt.vector_extract %{{[a-z0-9]+}}[3] : vector<4xi32> -> i32
  %1 = simt.vector_extract %v[3] : vector<4xi32> -> i32
  // CHECK: simt.vector_bitcast %{{[a-z0-9]+}} : vector<4xi32> -> vector<8xf16>
  %2 = simt.vector_bitcast %v : vector<4xi32> -> vector<8xf16>
  // CHECK: simt.vector_bitcast %{{[a-z0-9]+}} : vector<2xi32> -> i64
  %3 = simt.vector_bitcast %0 : vector<2xi32> -> i64
  return
}
