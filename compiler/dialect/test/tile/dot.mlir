// Round trip of the products.
// RUN: tandem-opt %s | tandem-opt | FileCheck %s
// RUN: tandem-opt %s --mlir-print-op-generic | tandem-opt | FileCheck %s

func.func @dot(%a: tensor<16x64xf16>, %b: tensor<64x32xf16>, %c: tensor<16x32xf32>, %a3: tensor<2x16x64xi8>, %b3: tensor<2x64x32xi8>, %c3: tensor<2x16x32xi32>,
               %e5: tensor<16x64xf8E5M2>, %e4: tensor<64x32xf8E4M3FN>, %packed: tensor<16x32xi8>, %as: tensor<16x2xi8>, %bs: tensor<32x2xi8>) {
  // CHECK: tile.dot %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : tensor<16x64xf16>, tensor<64x32xf16> -> tensor<16x32xf32>
  %0 = tile.dot %a, %b, %c : tensor<16x64xf16>, tensor<64x32xf16> -> tensor<16x32xf32>
  // CHECK: tile.dot %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} {maxNumImpreciseAcc = 128 : i32, precision = #tile<precision ieee>} : tensor<16x64xf8E5M2>, tensor<64x32xf8E4M3FN> -> tensor<16x32xf32>
  %1 = tile.dot %e5, %e4, %c {maxNumImpreciseAcc = 128 : i32, precision = #tile<precision ieee>} : tensor<16x64xf8E5M2>, tensor<64x32xf8E4M3FN> -> tensor<16x32xf32>
  // CHECK: tile.dot %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : tensor<2x16x64xi8>, tensor<2x64x32xi8> -> tensor<2x16x32xi32>
  %2 = tile.dot %a3, %b3, %c3 : tensor<2x16x64xi8>, tensor<2x64x32xi8> -> tensor<2x16x32xi32>
  // CHECK: tile.dot_scaled %{{[a-z0-9]+}} e5m2 scale %{{[a-z0-9]+}} : tensor<16x2xi8>, %{{[a-z0-9]+}} e4m3 scale %{{[a-z0-9]+}} : tensor<32x2xi8>, %{{[a-z0-9]+}} {lhsKPack = true, rhsKPack = true} : tensor<16x64xf8E5M2>, tensor<64x32xf8E4M3FN> -> tensor<16x32xf32>
  %3 = tile.dot_scaled %e5 e5m2 scale %as : tensor<16x2xi8>, %e4 e4m3 scale %bs : tensor<32x2xi8>, %c {lhsKPack = true, rhsKPack = true} : tensor<16x64xf8E5M2>, tensor<64x32xf8E4M3FN> -> tensor<16x32xf32>
  // CHECK: tile.dot_scaled %{{[a-z0-9]+}} e2m1 scale %{{[a-z0-9]+}} : tensor<16x2xi8>, %{{[a-z0-9]+}} fp16, %{{[a-z0-9]+}} {lhsKPack = true, rhsKPack = true} : tensor<16x32xi8>, tensor<64x32xf16> -> tensor<16x32xf32>
  %4 = tile.dot_scaled %packed e2m1 scale %as : tensor<16x2xi8>, %b fp16, %c {lhsKPack = true, rhsKPack = true} : tensor<16x32xi8>, tensor<64x32xf16> -> tensor<16x32xf32>
  return
}
