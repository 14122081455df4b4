// Rows' places times a stride, of which a thread has many, are computed in the loop, by a stride that may be another in each iteration.
// RUN: tandem-opt --compute-anew %s | FileCheck %s

// CHECK-LABEL: func.func @many_rows
// CHECK-SAME: %[[STRIDE:[a-z0-9]+]]: i32
// CHECK-NOT: arith.muli
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: %[[HIDDEN:.*]] = tile.inline_asm "mov.b32 $0, $1;", "=r,r,r"(%[[STRIDE]], %[[I]])
// CHECK: %[[ALL:.*]] = tile.splat %[[HIDDEN]]
// CHECK: %[[ROWS:.*]] = arith.muli %{{.*}}, %[[ALL]] : tensor<64x1xi32>
// CHECK: %[[PLACES:.*]] = tile.broadcast %[[ROWS]]
// CHECK: %[[AT:.*]] = tile.addptr %{{.*}}, %[[PLACES]]
// CHECK: tile.load
func.func @many_rows(%a: !tile.ptr<f16>, %stride: i32, %n: i32) attributes {tile.num_warps = 1 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %base = tile.splat %a : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
  %first = tile.splat %a : !tile.ptr<f16> -> tensor<64x1x!tile.ptr<f16>>
  %range = tile.make_range 0 to 64 : tensor<64xi32>
  %row = tile.expand_dims %range at 1 : tensor<64xi32> -> tensor<64x1xi32>
  %column = tile.expand_dims %range at 0 : tensor<64xi32> -> tensor<1x64xi32>
  %by = tile.splat %stride : i32 -> tensor<64x1xi32>
  %places = arith.muli %row, %by : tensor<64x1xi32>
  %columns = tile.broadcast %column : tensor<1x64xi32> -> tensor<64x64xi32>
  %rows = tile.addptr %first, %places : tensor<64x1x!tile.ptr<f16>>, tensor<64x1xi32>
  %of = tile.broadcast %rows : tensor<64x1x!tile.ptr<f16>> -> tensor<64x64x!tile.ptr<f16>>
  %at = tile.addptr %of, %columns : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  scf.for %i = %zero to %n step %one : i32 {
    %step = tile.splat %i : i32 -> tensor<64x64xi32>
    %now = tile.addptr %at, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %x = tile.load %now : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
    tile.store %base, %x : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xf16>
  }
  return
}

// One offset for both dimensions.
// CHECK-LABEL: func.func @summed
// CHECK: scf.for
// CHECK: arith.muli {{.*}} : tensor<64x1xi32>
// CHECK: %[[ROWS:.*]] = tile.broadcast
// CHECK: arith.addi %[[ROWS]], %{{.*}} : tensor<64x64xi32>
// CHECK: tile.load
func.func @summed(%a: !tile.ptr<f16>, %stride: i32, %n: i32) attributes {tile.num_warps = 1 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %base = tile.splat %a : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
  %range = tile.make_range 0 to 64 : tensor<64xi32>
  %row = tile.expand_dims %range at 1 : tensor<64xi32> -> tensor<64x1xi32>
  %column = tile.expand_dims %range at 0 : tensor<64xi32> -> tensor<1x64xi32>
  %by = tile.splat %stride : i32 -> tensor<64x1xi32>
  %places = arith.muli %row, %by : tensor<64x1xi32>
  %rows = tile.broadcast %places : tensor<64x1xi32> -> tensor<64x64xi32>
  %columns = tile.broadcast %column : tensor<1x64xi32> -> tensor<64x64xi32>
  %both = arith.addi %rows, %columns : tensor<64x64xi32>
  %at = tile.addptr %base, %both : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  scf.for %i = %zero to %n step %one : i32 {
    %step = tile.splat %i : i32 -> tensor<64x64xi32>
    %now = tile.addptr %at, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %x = tile.load %now : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
    tile.store %base, %x : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xf16>
  }
  return
}

// Eight warps have few rows each.
// CHECK-LABEL: func.func @few_rows
// CHECK: arith.muli
// CHECK-NOT: tile.inline_asm
// CHECK: return
func.func @few_rows(%a: !tile.ptr<f16>, %stride: i32, %n: i32) attributes {tile.num_warps = 8 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %base = tile.splat %a : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
  %range = tile.make_range 0 to 64 : tensor<64xi32>
  %row = tile.expand_dims %range at 1 : tensor<64xi32> -> tensor<64x1xi32>
  %column = tile.expand_dims %range at 0 : tensor<64xi32> -> tensor<1x64xi32>
  %by = tile.splat %stride : i32 -> tensor<64x1xi32>
  %places = arith.muli %row, %by : tensor<64x1xi32>
  %rows = tile.broadcast %places : tensor<64x1xi32> -> tensor<64x64xi32>
  %columns = tile.broadcast %column : tensor<1x64xi32> -> tensor<64x64xi32>
  %of = tile.addptr %base, %rows : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  %at = tile.addptr %of, %columns : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  scf.for %i = %zero to %n step %one : i32 {
    %step = tile.splat %i : i32 -> tensor<64x64xi32>
    %now = tile.addptr %at, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %x = tile.load %now : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
    tile.store %base, %x : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xf16>
  }
  return
}
