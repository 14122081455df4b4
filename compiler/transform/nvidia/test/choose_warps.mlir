// Four warps become eight where a thread of four would hold 256 sums.
// RUN: tandem-opt --choose-warps=target=sm_90a %s | FileCheck %s
// RUN: tandem-opt --choose-warps=target=sm_80 %s | FileCheck %s --check-prefix=OLD
// OLD-NOT: tile.num_warps = 8

// CHECK-LABEL: func.func @many
// CHECK-SAME: tile.num_warps = 8
func.func @many(%x: tensor<128x64xf16>, %y: tensor<64x256xf16>, %s: tensor<128x256xf32>) -> tensor<128x256xf32> attributes {tile.num_warps = 4 : i32} {
  %r = tile.dot %x, %y, %s : tensor<128x64xf16>, tensor<64x256xf16> -> tensor<128x256xf32>
  return %r : tensor<128x256xf32>
}

// CHECK-LABEL: func.func @few
// CHECK-SAME: tile.num_warps = 4
func.func @few(%x: tensor<128x64xf16>, %y: tensor<64x128xf16>, %s: tensor<128x128xf32>) -> tensor<128x128xf32> attributes {tile.num_warps = 4 : i32} {
  %r = tile.dot %x, %y, %s : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
  return %r : tensor<128x128xf32>
}

// Eight would not do either.
// CHECK-LABEL: func.func @more
// CHECK-SAME: tile.num_warps = 4
func.func @more(%x: tensor<256x64xf16>, %y: tensor<64x256xf16>, %s: tensor<256x256xf32>) -> tensor<256x256xf32> attributes {tile.num_warps = 4 : i32} {
  %r = tile.dot %x, %y, %s : tensor<256x64xf16>, tensor<64x256xf16> -> tensor<256x256xf32>
  return %r : tensor<256x256xf32>
}

// The author has bounded registers, and code for single threads knows their number.
// CHECK-LABEL: func.func @bounded
// CHECK-SAME: tile.num_warps = 4
func.func @bounded(%x: tensor<128x64xf16>, %y: tensor<64x256xf16>, %s: tensor<128x256xf32>) -> tensor<128x256xf32> attributes {tile.maxnreg = 255 : i32, tile.num_warps = 4 : i32} {
  %r = tile.dot %x, %y, %s : tensor<128x64xf16>, tensor<64x256xf16> -> tensor<128x256xf32>
  return %r : tensor<128x256xf32>
}
// CHECK-LABEL: func.func @counted
// CHECK-SAME: tile.num_warps = 4
func.func @counted(%x: tensor<128x64xf16>, %y: tensor<64x256xf16>, %s: tensor<128x256xf32>) -> tensor<128x256xf32> attributes {tile.num_warps = 4 : i32} {
  simt.barrier
  %r = tile.dot %x, %y, %s : tensor<128x64xf16>, tensor<64x256xf16> -> tensor<128x256xf32>
  return %r : tensor<128x256xf32>
}

// Assembly with effects could be a barrier of 128 threads; assembly without any can still ask how many there are.
// CHECK-LABEL: func.func @meets
// CHECK-SAME: tile.num_warps = 4
func.func @meets(%x: tensor<128x64xf16>, %y: tensor<64x256xf16>, %s: tensor<128x256xf32>) -> tensor<128x256xf32> attributes {tile.num_warps = 4 : i32} {
  %n = tile.inline_asm "bar.sync 1, 128; mov.u32 $0, 0;", "=r"() {pack = 1 : i32, pure = false} : () -> i32
  %r = tile.dot %x, %y, %s : tensor<128x64xf16>, tensor<64x256xf16> -> tensor<128x256xf32>
  return %r : tensor<128x256xf32>
}
// CHECK-LABEL: func.func @asks
// CHECK-SAME: tile.num_warps = 4
func.func @asks(%x: tensor<128x64xf16>, %y: tensor<64x256xf16>, %s: tensor<128x256xf32>) -> tensor<128x256xf32> attributes {tile.num_warps = 4 : i32} {
  %n = tile.inline_asm "mov.u32 $0, %ntid.x;", "=r"() {pack = 1 : i32, pure = true} : () -> i32
  %r = tile.dot %x, %y, %s : tensor<128x64xf16>, tensor<64x256xf16> -> tensor<128x256xf32>
  return %r : tensor<128x256xf32>
}
// CHECK-LABEL: func.func @computes
// CHECK-SAME: tile.num_warps = 8
func.func @computes(%x: tensor<128x64xf16>, %y: tensor<64x256xf16>, %s: tensor<128x256xf32>, %v: f32) -> tensor<128x256xf32> attributes {tile.num_warps = 4 : i32} {
  %n = tile.inline_asm "ex2.approx.f32 $0, $1;", "=f,f"(%v) {pack = 1 : i32, pure = true} : (f32) -> f32
  %r = tile.dot %x, %y, %s : tensor<128x64xf16>, tensor<64x256xf16> -> tensor<128x256xf32>
  return %r : tensor<128x256xf32>
}

// Two sums of 128 registers each, which a loop carries: one product's result, and one that another is added to.
// CHECK-LABEL: func.func @two_sums
// CHECK-SAME: tile.num_warps = 8
func.func @two_sums(%x: tensor<128x64xf16>, %y: tensor<64x128xf16>, %s: tensor<128x128xf32>, %n: i32) -> (tensor<128x128xf32>, tensor<128x128xf32>) attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %s, %b = %s) -> (tensor<128x128xf32>, tensor<128x128xf32>) : i32 {
    %p = tile.dot %x, %y, %a : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    %q = tile.dot %x, %y, %zero : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    %t = arith.addf %b, %q : tensor<128x128xf32>
    scf.yield %p, %t : tensor<128x128xf32>, tensor<128x128xf32>
  }
  return %r#0, %r#1 : tensor<128x128xf32>, tensor<128x128xf32>
}

// Half of that leaves room for what the loop computes.
// CHECK-LABEL: func.func @two_small_sums
// CHECK-SAME: tile.num_warps = 4
func.func @two_small_sums(%x: tensor<128x64xf16>, %y: tensor<64x64xf16>, %s: tensor<128x64xf32>, %n: i32) -> (tensor<128x64xf32>, tensor<128x64xf32>) attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %s, %b = %s) -> (tensor<128x64xf32>, tensor<128x64xf32>) : i32 {
    %p = tile.dot %x, %y, %a : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %q = tile.dot %x, %y, %zero : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %t = arith.addf %b, %q : tensor<128x64xf32>
    scf.yield %p, %t : tensor<128x64xf32>, tensor<128x64xf32>
  }
  return %r#0, %r#1 : tensor<128x64xf32>, tensor<128x64xf32>
}

// A sum of 128 registers, and as many for the product that is scaled before it is added.
// CHECK-LABEL: func.func @scaled
// CHECK-SAME: tile.num_warps = 8
func.func @scaled(%x: tensor<128x64xf16>, %y: tensor<64x128xf16>, %f: tensor<128x128xf32>, %n: i32) -> tensor<128x128xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (tensor<128x128xf32>) : i32 {
    %p = tile.dot %x, %y, %zero : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    %s = arith.mulf %p, %f : tensor<128x128xf32>
    %t = arith.addf %a, %s : tensor<128x128xf32>
    scf.yield %t : tensor<128x128xf32>
  }
  return %r : tensor<128x128xf32>
}

// Of eight columns, eight warps would have too few.
// CHECK-LABEL: func.func @few_columns
// CHECK-SAME: tile.num_warps = 4
func.func @few_columns(%x: tensor<64x64xf16>, %y: tensor<64x256xf16>, %z: tensor<64x8xf16>, %f: tensor<64x256xf32>, %n: i32) -> (tensor<64x256xf32>, tensor<64x8xf32>) attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x256xf32>
  %none = arith.constant dense<0.0> : tensor<64x8xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero, %b = %none) -> (tensor<64x256xf32>, tensor<64x8xf32>) : i32 {
    %p = tile.dot %x, %y, %zero : tensor<64x64xf16>, tensor<64x256xf16> -> tensor<64x256xf32>
    %s = arith.mulf %p, %f : tensor<64x256xf32>
    %t = arith.addf %a, %s : tensor<64x256xf32>
    %q = tile.dot %x, %z, %b : tensor<64x64xf16>, tensor<64x8xf16> -> tensor<64x8xf32>
    scf.yield %t, %q : tensor<64x256xf32>, tensor<64x8xf32>
  }
  return %r#0, %r#1 : tensor<64x256xf32>, tensor<64x8xf32>
}
