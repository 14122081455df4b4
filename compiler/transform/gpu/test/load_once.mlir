// RUN: tandem-opt --load-once %s | FileCheck %s
// Two rows of 4-bit weights share a row of bytes, which is loaded once: bytes one behind the other.

// CHECK-LABEL: func.func @weights
// CHECK: %[[ROWS:.*]] = tile.make_range 0 to 32 : tensor<32xi32>
// CHECK: %[[COLUMN:.*]] = tile.expand_dims %[[ROWS]] at 1
// CHECK-NOT: arith.divsi
// CHECK: %[[ONCE:.*]] = tile.load {{.*}} : tensor<32x16x!tile.ptr<i8>> -> tensor<32x16xi8>
// CHECK: %[[HIGHER:.*]] = tile.expand_dims %[[ONCE]] at 1 : tensor<32x16xi8> -> tensor<32x1x16xi8>
// CHECK: %[[TWICE:.*]] = tile.broadcast %[[HIGHER]] : tensor<32x1x16xi8> -> tensor<32x2x16xi8>
// CHECK: %[[ALL:.*]] = tile.reshape %[[TWICE]] : tensor<32x2x16xi8> -> tensor<64x16xi8>
// CHECK: return %[[ALL]]
func.func @weights(%w: !tile.ptr<i8>, %stride: i32) -> tensor<64x16xi8> attributes {tile.num_warps = 4 : i32} {
  %two = arith.constant 2 : i32
  %k = tile.make_range 0 to 64 : tensor<64xi32>
  %k1 = tile.expand_dims %k at 1 : tensor<64xi32> -> tensor<64x1xi32>
  %twos = tile.splat %two : i32 -> tensor<64x1xi32>
  %half = arith.divsi %k1, %twos : tensor<64x1xi32>
  %n = tile.make_range 0 to 16 : tensor<16xi32>
  %n1 = tile.expand_dims %n at 0 : tensor<16xi32> -> tensor<1x16xi32>
  %s = tile.splat %stride : i32 -> tensor<1x16xi32>
  %ns = arith.muli %n1, %s : tensor<1x16xi32>
  %base = tile.splat %w : !tile.ptr<i8> -> tensor<64x1x!tile.ptr<i8>>
  %rows = tile.addptr %base, %half : tensor<64x1x!tile.ptr<i8>>, tensor<64x1xi32>
  %wide = tile.broadcast %rows : tensor<64x1x!tile.ptr<i8>> -> tensor<64x16x!tile.ptr<i8>>
  %ns2 = tile.broadcast %ns : tensor<1x16xi32> -> tensor<64x16xi32>
  %at = tile.addptr %wide, %ns2 : tensor<64x16x!tile.ptr<i8>>, tensor<64x16xi32>
  %v = tile.load %at : tensor<64x16x!tile.ptr<i8>> -> tensor<64x16xi8>
  return %v : tensor<64x16xi8>
}

// By shifts; a mask that is the same for eight neighbours is computed of the first one's position.
// CHECK-LABEL: func.func @masked
// CHECK-DAG: %[[POSITION:.*]] = tile.make_range 0 to 16 : tensor<16xi32>
// CHECK-DAG: %[[FIRST:.*]] = arith.muli %[[POSITION]]
// CHECK: %[[MASK:.*]] = arith.cmpi slt, %[[FIRST]]
// CHECK: tile.load %{{.*}} mask %[[MASK]] : tensor<16xi1> {{.*}} -> tensor<16xi32>
func.func @masked(%w: !tile.ptr<i32>, %n: i32 {tile.multiple_of = 16 : i32}) -> tensor<128xi32> attributes {tile.num_warps = 4 : i32} {
  %three = arith.constant dense<3> : tensor<128xi32>
  %k = tile.make_range 0 to 128 : tensor<128xi32>
  %eighth = arith.shrui %k, %three : tensor<128xi32>
  %limit = tile.splat %n : i32 -> tensor<128xi32>
  %mask = arith.cmpi slt, %k, %limit : tensor<128xi32>
  %base = tile.splat %w : !tile.ptr<i32> -> tensor<128x!tile.ptr<i32>>
  %at = tile.addptr %base, %eighth : tensor<128x!tile.ptr<i32>>, tensor<128xi32>
  %v = tile.load %at mask %mask : tensor<128xi1> : tensor<128x!tile.ptr<i32>> -> tensor<128xi32>
  return %v : tensor<128xi32>
}

// Neighbours have different masks: the load stays.
// CHECK-LABEL: func.func @any_mask
// CHECK: tile.load {{.*}} -> tensor<128xi32>
func.func @any_mask(%w: !tile.ptr<i32>, %n: i32) -> tensor<128xi32> attributes {tile.num_warps = 4 : i32} {
  %three = arith.constant dense<3> : tensor<128xi32>
  %k = tile.make_range 0 to 128 : tensor<128xi32>
  %eighth = arith.shrui %k, %three : tensor<128xi32>
  %limit = tile.splat %n : i32 -> tensor<128xi32>
  %mask = arith.cmpi slt, %k, %limit : tensor<128xi32>
  %base = tile.splat %w : !tile.ptr<i32> -> tensor<128x!tile.ptr<i32>>
  %at = tile.addptr %base, %eighth : tensor<128x!tile.ptr<i32>>, tensor<128xi32>
  %v = tile.load %at mask %mask : tensor<128xi1> : tensor<128x!tile.ptr<i32>> -> tensor<128xi32>
  return %v : tensor<128xi32>
}

// Neighbours have values of their own where the mask is false: the load stays.
// CHECK-LABEL: func.func @any_other
// CHECK: tile.load {{.*}} -> tensor<128xi32>
func.func @any_other(%w: !tile.ptr<i32>, %n: i32) -> tensor<128xi32> attributes {tile.num_warps = 4 : i32} {
  %three = arith.constant dense<3> : tensor<128xi32>
  %k = tile.make_range 0 to 128 : tensor<128xi32>
  %eighth = arith.shrui %k, %three : tensor<128xi32>
  %limit = tile.splat %n : i32 -> tensor<128xi32>
  %mask = arith.cmpi slt, %eighth, %limit : tensor<128xi32>
  %base = tile.splat %w : !tile.ptr<i32> -> tensor<128x!tile.ptr<i32>>
  %at = tile.addptr %base, %eighth : tensor<128x!tile.ptr<i32>>, tensor<128xi32>
  %v = tile.load %at mask %mask : tensor<128xi1> other %k : tensor<128xi32> : tensor<128x!tile.ptr<i32>> -> tensor<128xi32>
  return %v : tensor<128xi32>
}

// Positions begin below zero, where quotients depend on how they are rounded: the load stays.
// CHECK-LABEL: func.func @negative
// CHECK: tile.load {{.*}} -> tensor<128xi32>
func.func @negative(%w: !tile.ptr<i32>) -> tensor<128xi32> attributes {tile.num_warps = 4 : i32} {
  %three = arith.constant dense<3> : tensor<128xi32>
  %k = tile.make_range -64 to 64 : tensor<128xi32>
  %eighth = arith.shrsi %k, %three : tensor<128xi32>
  %base = tile.splat %w : !tile.ptr<i32> -> tensor<128x!tile.ptr<i32>>
  %at = tile.addptr %base, %eighth : tensor<128x!tile.ptr<i32>>, tensor<128xi32>
  %v = tile.load %at : tensor<128x!tile.ptr<i32>> -> tensor<128xi32>
  return %v : tensor<128xi32>
}

// A promise about neighbours is limited where only every eighth position is computed; a promise about the loaded values goes to the
// repeated tile.
// CHECK-LABEL: func.func @promised
// CHECK: arith.andi {{.*}} {tile.constancy = array<i32: 2>, tile.contiguity = array<i32: 1>, tile.divisibility = array<i32: 8>} : tensor<16xi32>
// CHECK: tile.load {{.*}} {tile.constancy = array<i32: 1>, tile.divisibility = array<i32: 4>} {{.*}} -> tensor<16xi32>
// CHECK: tile.reshape {{.*}} {tile.constancy = array<i32: 8>, tile.divisibility = array<i32: 4>}
func.func @promised(%w: !tile.ptr<i32>) -> tensor<128xi32> attributes {tile.num_warps = 4 : i32} {
  %three = arith.constant dense<3> : tensor<128xi32>
  %high = arith.constant dense<240> : tensor<128xi32>
  %k = tile.make_range 0 to 128 : tensor<128xi32>
  %eighth = arith.shrui %k, %three : tensor<128xi32>
  %block = arith.andi %k, %high {tile.constancy = array<i32: 16>, tile.contiguity = array<i32: 4>, tile.divisibility = array<i32: 16>} : tensor<128xi32>
  %sum = arith.addi %eighth, %block : tensor<128xi32>
  %base = tile.splat %w : !tile.ptr<i32> -> tensor<128x!tile.ptr<i32>>
  %at = tile.addptr %base, %sum : tensor<128x!tile.ptr<i32>>, tensor<128xi32>
  %v = tile.load %at {tile.constancy = array<i32: 8>, tile.divisibility = array<i32: 4>} : tensor<128x!tile.ptr<i32>> -> tensor<128xi32>
  return %v : tensor<128xi32>
}

// A loop's position and a program's first one may be added before the division: each term is divided. The mask keeps the runs that
// it had, so that a thread loads eight bytes at once.
// CHECK-LABEL: func.func @from
// CHECK: %[[EXACT:.*]] = arith.divsi %{{.*}}, %{{.*}} : i32
// CHECK: %[[BEGIN:.*]] = tile.splat %[[EXACT]]
// CHECK: %[[POSITIONS:.*]] = tile.make_range 0 to 64 : tensor<64xi32>
// CHECK: %[[AT:.*]] = arith.addi %[[BEGIN]], %[[POSITIONS]]
// CHECK: arith.cmpi slt, {{.*}} {tile.constancy = array<i32: 8>} : tensor<64xi32>
// CHECK: tile.load {{.*}} : tensor<64x!tile.ptr<i8>> -> tensor<64xi8>
func.func @from(%w: !tile.ptr<i8>, %n: i32 {tile.multiple_of = 16 : i32}) -> tensor<128xi8> attributes {tile.num_warps = 4 : i32} {
  %size = arith.constant 128 : i32
  %two = arith.constant dense<2> : tensor<128xi32>
  %id = tile.program_id 0
  %begin = arith.muli %id, %size : i32
  %first = tile.splat %begin : i32 -> tensor<128xi32>
  %r = tile.make_range 0 to 128 : tensor<128xi32>
  %i = arith.addi %first, %r : tensor<128xi32>
  %half = arith.divsi %i, %two : tensor<128xi32>
  %limit = tile.splat %n : i32 -> tensor<128xi32>
  %mask = arith.cmpi slt, %i, %limit : tensor<128xi32>
  %base = tile.splat %w : !tile.ptr<i8> -> tensor<128x!tile.ptr<i8>>
  %at = tile.addptr %base, %half : tensor<128x!tile.ptr<i8>>, tensor<128xi32>
  %v = tile.load %at mask %mask : tensor<128xi1> : tensor<128x!tile.ptr<i8>> -> tensor<128xi8>
  return %v : tensor<128xi8>
}

// What begins at a number of which nothing is known is not divided term by term.
// CHECK-LABEL: func.func @from_anywhere
// CHECK: tile.load {{.*}} -> tensor<128xi8>
func.func @from_anywhere(%w: !tile.ptr<i8>, %begin: i32) -> tensor<128xi8> attributes {tile.num_warps = 4 : i32} {
  %two = arith.constant dense<2> : tensor<128xi32>
  %first = tile.splat %begin : i32 -> tensor<128xi32>
  %r = tile.make_range 0 to 128 : tensor<128xi32>
  %i = arith.addi %first, %r : tensor<128xi32>
  %half = arith.divsi %i, %two : tensor<128xi32>
  %base = tile.splat %w : !tile.ptr<i8> -> tensor<128x!tile.ptr<i8>>
  %at = tile.addptr %base, %half : tensor<128x!tile.ptr<i8>>, tensor<128xi32>
  %v = tile.load %at : tensor<128x!tile.ptr<i8>> -> tensor<128xi8>
  return %v : tensor<128xi8>
}

// Each turn of a loop stores what the next one may load: such a load stays, unless the launch says that the two are apart.
// CHECK-LABEL: func.func @turns
// CHECK-SAME: tile.apart = array<i32: 0, 1>
// CHECK: tile.load
// CHECK: scf.for
func.func @turns(%o: !tile.ptr<i32>, %i: !tile.ptr<i32>) attributes {tile.num_warps = 4 : i32, tile.overlapping = array<i32>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %five = arith.constant 5 : i32
  scf.for %turn = %zero to %five step %one : i32 {
    %v = tile.load %i : !tile.ptr<i32> -> i32
    %sum = arith.addi %v, %turn : i32
    tile.store %o, %sum : !tile.ptr<i32>, i32
  }
  return
}

// CHECK-LABEL: func.func @turns_of_one
// CHECK: scf.for
// CHECK: tile.load
func.func @turns_of_one(%o: !tile.ptr<i32>, %i: !tile.ptr<i32>) attributes {tile.num_warps = 4 : i32, tile.overlapping = array<i32: 0, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %five = arith.constant 5 : i32
  scf.for %turn = %zero to %five step %one : i32 {
    %v = tile.load %i : !tile.ptr<i32> -> i32
    %sum = arith.addi %v, %turn : i32
    tile.store %o, %sum : !tile.ptr<i32>, i32
  }
  return
}

// CHECK-LABEL: func.func @turns_of_unknown
// CHECK: scf.for
// CHECK: tile.load
func.func @turns_of_unknown(%o: !tile.ptr<i32>, %i: !tile.ptr<i32>) attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %five = arith.constant 5 : i32
  scf.for %turn = %zero to %five step %one : i32 {
    %v = tile.load %i : !tile.ptr<i32> -> i32
    %sum = arith.addi %v, %turn : i32
    tile.store %o, %sum : !tile.ptr<i32>, i32
  }
  return
}
