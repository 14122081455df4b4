// Products whose operands do not fit.
// RUN: tandem-opt %s -split-input-file -verify-diagnostics

func.func @f(%a: tensor<16x64xf16>, %b: tensor<32x32xf16>, %c: tensor<16x32xf32>) {
  // expected-error @+1 {{`tile.dot` operands have inner dimensions 64 and 32}}
  %0 = tile.dot %a, %b, %c : tensor<16x64xf16>, tensor<32x32xf16> -> tensor<16x32xf32>
  return
}

// -----

func.func @f(%a: tensor<16x64xf16>, %b: tensor<64x32xf16>, %c: tensor<16x16xf32>) {
  // expected-error @+1 {{`tile.dot` operands give 16x32 but the accumulator is 16x16}}
  %0 = tile.dot %a, %b, %c : tensor<16x64xf16>, tensor<64x32xf16> -> tensor<16x16xf32>
  return
}

// -----

func.func @f(%a: tensor<64xf16>, %b: tensor<64x32xf16>, %c: tensor<16x16xf32>) {
  // expected-error @+1 {{`tile.dot` operands have ranks 1, 2 and 2, not all 2 or all 3}}
  %0 = tile.dot %a, %b, %c : tensor<64xf16>, tensor<64x32xf16> -> tensor<16x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x16x16xf16>, %b: tensor<3x16x16xf16>, %c: tensor<2x16x16xf32>) {
  // expected-error @+1 {{`tile.dot` operands have batch dimensions 2, 3 and 2}}
  %0 = tile.dot %a, %b, %c : tensor<2x16x16xf16>, tensor<3x16x16xf16> -> tensor<2x16x16xf32>
  return
}

// -----

func.func @f(%a: tensor<16x16xf16>, %b: tensor<16x16xbf16>, %c: tensor<16x16xf32>) {
  // expected-error @+1 {{`tile.dot` operands have elements of type 'f16' and 'bf16'}}
  %0 = tile.dot %a, %b, %c : tensor<16x16xf16>, tensor<16x16xbf16> -> tensor<16x16xf32>
  return
}

// -----

func.func @f(%a: tensor<16x16xbf16>, %c: tensor<16x16xf16>) {
  // expected-error @+1 {{`tile.dot` cannot accumulate products of 'bf16' in 'f16'}}
  %0 = tile.dot %a, %a, %c : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xf16>
  return
}

// -----

func.func @f(%a: tensor<16x64xf16>, %b: tensor<64x32xf16>, %c: tensor<16x32xf32>) {
  // expected-error @+1 {{`tile.dot_scaled` left operand has elements of type 'f16', which do not hold `e5m2`}}
  %0 = tile.dot_scaled %a e5m2, %b fp16, %c {lhsKPack = true, rhsKPack = true} : tensor<16x64xf16>, tensor<64x32xf16> -> tensor<16x32xf32>
  return
}

// -----

func.func @f(%a: tensor<16x32xi8>, %b: tensor<32x32xf16>, %c: tensor<16x32xf32>) {
  // expected-error @+1 {{`tile.dot_scaled` operands have inner dimensions 64 and 32}}
  %0 = tile.dot_scaled %a e2m1, %b fp16, %c {lhsKPack = true, rhsKPack = true} : tensor<16x32xi8>, tensor<32x32xf16> -> tensor<16x32xf32>
  return
}

// -----

func.func @f(%a: tensor<16x64xf16>, %s: tensor<16x4xi8>, %b: tensor<64x32xf16>, %c: tensor<16x32xf32>) {
  // expected-error @+1 {{`tile.dot_scaled` left scale has shape 16x4, not 16x2}}
  %0 = tile.dot_scaled %a fp16 scale %s : tensor<16x4xi8>, %b fp16, %c {lhsKPack = true, rhsKPack = true} : tensor<16x64xf16>, tensor<64x32xf16> -> tensor<16x32xf32>
  return
}

// -----

func.func @f(%a: tensor<16x64xf16>, %s: tensor<16x2xf8E4M3FN>, %b: tensor<64x32xf16>, %c: tensor<16x32xf32>) {
  // expected-error @+1 {{`tile.dot_scaled` left scale has shape 16x2, not 16x4}}
  %0 = tile.dot_scaled %a fp16 scale %s : tensor<16x2xf8E4M3FN>, %b fp16, %c {lhsKPack = true, rhsKPack = true} : tensor<16x64xf16>, tensor<64x32xf16> -> tensor<16x32xf32>
  return
}

// -----

func.func @f(%a: tensor<16x64xf16>, %s: tensor<16x2xf8E5M2>, %b: tensor<64x32xf16>, %c: tensor<16x32xf32>) {
  // expected-error @+1 {{`tile.dot_scaled` left scale has elements of type 'f8E5M2', neither i8 nor f8E4M3FN}}
  %0 = tile.dot_scaled %a fp16 scale %s : tensor<16x2xf8E5M2>, %b fp16, %c {lhsKPack = true, rhsKPack = true} : tensor<16x64xf16>, tensor<64x32xf16> -> tensor<16x32xf32>
  return
}

// -----

func.func @f(%a: tensor<16x64xf16>, %b: tensor<64x32xf16>, %c: tensor<16x32xf32>) {
  // expected-error @+1 {{`tile.dot_scaled` right operand has format `fp16`; only `e2m1` is packed along another dimension than K}}
  %0 = tile.dot_scaled %a fp16, %b fp16, %c {lhsKPack = true, rhsKPack = false} : tensor<16x64xf16>, tensor<64x32xf16> -> tensor<16x32xf32>
  return
}

// -----

func.func @f(%a: tensor<16x64xf16>, %b: tensor<64x32xf16>, %c: tensor<16x32xf16>) {
  // expected-error @+1 {{`tile.dot_scaled` accumulator has elements of type 'f16', not f32}}
  %0 = tile.dot_scaled %a fp16, %b fp16, %c {lhsKPack = true, rhsKPack = true} : tensor<16x64xf16>, tensor<64x32xf16> -> tensor<16x32xf16>
  return
}
