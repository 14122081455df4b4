// Round trip of pointer arithmetic and conversions.
// RUN: tandem-opt %s | tandem-opt | FileCheck %s
// RUN: tandem-opt %s --mlir-print-op-generic | tandem-opt | FileCheck %s

func.func @convert(%p: !tile.ptr<f16>, %ps: tensor<8x!tile.ptr<f16>>, %i: i32, %is: tensor<8xi64>, %f: tensor<8xf32>, %n: tensor<8xi32>) {
  // CHECK: tile.addptr %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : !tile.ptr<f16>, i32
  %0 = tile.addptr %p, %i : !tile.ptr<f16>, i32
  // CHECK: tile.addptr %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : tensor<8x!tile.ptr<f16>>, tensor<8xi64>
  %1 = tile.addptr %ps, %is : tensor<8x!tile.ptr<f16>>, tensor<8xi64>
  // CHECK: tile.bitcast %{{[a-z0-9]+}} : tensor<8xf32> -> tensor<8xi32>
  %4 = tile.bitcast %f : tensor<8xf32> -> tensor<8xi32>
  // CHECK: tile.bitcast %{{[a-z0-9]+}} : !tile.ptr<f16> -> !tile.ptr<!tile.ptr<i8>>
  %5 = tile.bitcast %p : !tile.ptr<f16> -> !tile.ptr<!tile.ptr<i8>>
  // CHECK: tile.fp_to_fp %{{[a-z0-9]+}} : tensor<8xf32> -> tensor<8xf8E4M3FN>
  %6 = tile.fp_to_fp %f : tensor<8xf32> -> tensor<8xf8E4M3FN>
  // CHECK: tile.fp_to_fp %{{[a-z0-9]+}} {rounding = #tile<rounding rtz>} : tensor<8xf32> -> tensor<8xf16>
  %7 = tile.fp_to_fp %f {rounding = #tile<rounding rtz>} : tensor<8xf32> -> tensor<8xf16>
  // CHECK: tile.extern_elementwise "__nv_erff"(%{{[a-z0-9]+}}) : (tensor<8xf32>) -> tensor<8xf32>
  %9 = tile.extern_elementwise "__nv_erff"(%f) : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: tile.inline_asm "neg.s32 $0, $1;", "=r,r"(%{{[a-z0-9]+}}) {pack = 1 : i32, pure = true} : (tensor<8xi32>) -> tensor<8xi32>
  %10 = tile.inline_asm "neg.s32 $0, $1;", "=r,r"(%n) {pack = 1 : i32, pure = true} : (tensor<8xi32>) -> tensor<8xi32>
  return
}
