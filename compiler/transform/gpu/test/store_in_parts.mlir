// RUN: tandem-opt --store-in-parts %s | FileCheck %s
// A tile of which each of 128 threads would have 256 elements is made and stored in four parts.

// CHECK-LABEL: func.func @copy
// CHECK-SAME: tile.apart = array<i32: 0, 1>
// CHECK-DAG: %[[PARTS:.*]] = arith.constant 4 : i32
// CHECK: scf.for %[[PART:.*]] = %{{.*}} to %[[PARTS]] step
// CHECK: tile.make_range 0 to 8192 : tensor<8192xi32>
// CHECK: arith.muli %[[PART]], %{{.*}} : i32
// CHECK: tile.load {{.*}} : tensor<8192x!tile.ptr<f32>>
// CHECK: arith.addf {{.*}} : tensor<8192xf32>
// CHECK: tile.store {{.*}} mask
// CHECK: }
// CHECK-NOT: tile.load
// CHECK-NOT: tile.store
func.func @copy(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %n: i32) attributes {tile.num_warps = 4 : i32, tile.overlapping = array<i32>} {
  %one = arith.constant dense<1.0> : tensor<32768xf32>
  %r = tile.make_range 0 to 32768 : tensor<32768xi32>
  %limit = tile.splat %n : i32 -> tensor<32768xi32>
  %mask = arith.cmpi slt, %r, %limit : tensor<32768xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<32768x!tile.ptr<f32>>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<32768x!tile.ptr<f32>>
  %from = tile.addptr %xs, %r : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
  %to = tile.addptr %ys, %r : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
  %v = tile.load %from mask %mask : tensor<32768xi1> : tensor<32768x!tile.ptr<f32>> -> tensor<32768xf32>
  %w = arith.addf %v, %one : tensor<32768xf32>
  tile.store %to, %w mask %mask : tensor<32768xi1> : tensor<32768x!tile.ptr<f32>>, tensor<32768xf32>
  return
}

// Each of 1024 threads has 64 registers, so a tile of 64 elements is divided, too, in place as it is loaded.
// CHECK-LABEL: func.func @few_registers
// CHECK: scf.for
// CHECK: tile.load {{.*}} -> tensor<16384xf32>
// CHECK: tile.store {{.*}} tensor<16384xf32>
func.func @few_registers(%x: !tile.ptr<f32>) attributes {tile.num_warps = 32 : i32} {
  %r = tile.make_range 0 to 65536 : tensor<65536xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<65536x!tile.ptr<f32>>
  %at = tile.addptr %xs, %r : tensor<65536x!tile.ptr<f32>>, tensor<65536xi32>
  %v = tile.load %at : tensor<65536x!tile.ptr<f32>> -> tensor<65536xf32>
  %w = math.exp %v : tensor<65536xf32>
  tile.store %at, %w : tensor<65536x!tile.ptr<f32>>, tensor<65536xf32>
  return
}

// Rows of a tile are divided; what belongs to a column is the same in all parts, and is not loaded again.
// CHECK-LABEL: func.func @rows
// CHECK: %[[SCALE:.*]] = tile.load {{.*}} -> tensor<1x256xf32>
// CHECK: scf.for
// CHECK: tile.broadcast %[[SCALE]] : tensor<1x256xf32> -> tensor<32x256xf32>
// CHECK: tile.store {{.*}} tensor<32x256xf32>
func.func @rows(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %s: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32, tile.overlapping = array<i32>} {
  %c256 = arith.constant dense<256> : tensor<256x1xi32>
  %r = tile.make_range 0 to 256 : tensor<256xi32>
  %r1 = tile.expand_dims %r at 1 : tensor<256xi32> -> tensor<256x1xi32>
  %c1 = tile.expand_dims %r at 0 : tensor<256xi32> -> tensor<1x256xi32>
  %ss = tile.splat %s : !tile.ptr<f32> -> tensor<1x256x!tile.ptr<f32>>
  %sp = tile.addptr %ss, %c1 : tensor<1x256x!tile.ptr<f32>>, tensor<1x256xi32>
  %rows = arith.muli %r1, %c256 : tensor<256x1xi32>
  %ro = tile.broadcast %rows : tensor<256x1xi32> -> tensor<256x256xi32>
  %co = tile.broadcast %c1 : tensor<1x256xi32> -> tensor<256x256xi32>
  %at = arith.addi %ro, %co : tensor<256x256xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<256x256x!tile.ptr<f32>>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<256x256x!tile.ptr<f32>>
  %from = tile.addptr %xs, %at : tensor<256x256x!tile.ptr<f32>>, tensor<256x256xi32>
  %to = tile.addptr %ys, %at : tensor<256x256x!tile.ptr<f32>>, tensor<256x256xi32>
  %v = tile.load %from : tensor<256x256x!tile.ptr<f32>> -> tensor<256x256xf32>
  %sv = tile.load %sp : tensor<1x256x!tile.ptr<f32>> -> tensor<1x256xf32>
  %scale = tile.broadcast %sv : tensor<1x256xf32> -> tensor<256x256xf32>
  %w = arith.mulf %v, %scale : tensor<256x256xf32>
  tile.store %to, %w : tensor<256x256x!tile.ptr<f32>>, tensor<256x256xf32>
  return
}

// In place each part is loaded where it is stored.
// CHECK-LABEL: func.func @in_place
// CHECK: scf.for
// CHECK: tile.load
// CHECK: tile.store
func.func @in_place(%x: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32, tile.overlapping = array<i32>} {
  %r = tile.make_range 0 to 32768 : tensor<32768xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<32768x!tile.ptr<f32>>
  %at = tile.addptr %xs, %r : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
  %v = tile.load %at : tensor<32768x!tile.ptr<f32>> -> tensor<32768xf32>
  %w = arith.negf %v : tensor<32768xf32>
  tile.store %at, %w : tensor<32768x!tile.ptr<f32>>, tensor<32768xf32>
  return
}

// Two stores of one load share the loop.
// CHECK-LABEL: func.func @both
// CHECK: scf.for
// CHECK: tile.load
// CHECK: tile.store
// CHECK: tile.store
// CHECK: }
// CHECK-NOT: tile.load
// CHECK-NOT: tile.store
func.func @both(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %z: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32, tile.overlapping = array<i32>} {
  %r = tile.make_range 0 to 32768 : tensor<32768xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<32768x!tile.ptr<f32>>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<32768x!tile.ptr<f32>>
  %zs = tile.splat %z : !tile.ptr<f32> -> tensor<32768x!tile.ptr<f32>>
  %from = tile.addptr %xs, %r : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
  %to = tile.addptr %ys, %r : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
  %also = tile.addptr %zs, %r : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
  %v = tile.load %from : tensor<32768x!tile.ptr<f32>> -> tensor<32768xf32>
  tile.store %to, %v : tensor<32768x!tile.ptr<f32>>, tensor<32768xf32>
  %w = arith.negf %v : tensor<32768xf32>
  tile.store %also, %w : tensor<32768x!tile.ptr<f32>>, tensor<32768xf32>
  return
}

// The rest stays whole. Here the next elements are loaded, which a part before would have written.
// CHECK-LABEL: func.func @shifted
// CHECK-NOT: scf.for
// CHECK: return
func.func @shifted(%x: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32, tile.overlapping = array<i32>} {
  %one = arith.constant dense<1> : tensor<32768xi32>
  %r = tile.make_range 0 to 32768 : tensor<32768xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<32768x!tile.ptr<f32>>
  %at = tile.addptr %xs, %r : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
  %to = tile.addptr %at, %one : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
  %v = tile.load %at : tensor<32768x!tile.ptr<f32>> -> tensor<32768xf32>
  tile.store %to, %v : tensor<32768x!tile.ptr<f32>>, tensor<32768xf32>
  return
}

// Elements are loaded and stored in place, some of them more than once.
// CHECK-LABEL: func.func @repeated
// CHECK-NOT: scf.for
// CHECK: return
func.func @repeated(%x: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32, tile.overlapping = array<i32>} {
  %period = arith.constant dense<8192> : tensor<32768xi32>
  %r = tile.make_range 0 to 32768 : tensor<32768xi32>
  %again = arith.remui %r, %period : tensor<32768xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<32768x!tile.ptr<f32>>
  %at = tile.addptr %xs, %again : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
  %v = tile.load %at : tensor<32768x!tile.ptr<f32>> -> tensor<32768xf32>
  %w = arith.negf %v : tensor<32768xf32>
  tile.store %at, %w : tensor<32768x!tile.ptr<f32>>, tensor<32768xf32>
  return
}

// Nobody has promised that the pointers are apart.
// CHECK-LABEL: func.func @may_overlap
// CHECK-NOT: scf.for
// CHECK: return
func.func @may_overlap(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32} {
  %r = tile.make_range 0 to 32768 : tensor<32768xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<32768x!tile.ptr<f32>>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<32768x!tile.ptr<f32>>
  %from = tile.addptr %xs, %r : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
  %to = tile.addptr %ys, %r : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
  %v = tile.load %from : tensor<32768x!tile.ptr<f32>> -> tensor<32768xf32>
  tile.store %to, %v : tensor<32768x!tile.ptr<f32>>, tensor<32768xf32>
  return
}

// The loaded tile is summed as well.
// CHECK-LABEL: func.func @summed
// CHECK-NOT: scf.for
// CHECK: return
func.func @summed(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>) -> f32 attributes {tile.num_warps = 4 : i32, tile.overlapping = array<i32>} {
  %r = tile.make_range 0 to 32768 : tensor<32768xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<32768x!tile.ptr<f32>>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<32768x!tile.ptr<f32>>
  %from = tile.addptr %xs, %r : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
  %to = tile.addptr %ys, %r : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
  %v = tile.load %from : tensor<32768x!tile.ptr<f32>> -> tensor<32768xf32>
  %sum = "tile.reduce"(%v) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tile.yield %s : f32
  }) : (tensor<32768xf32>) -> f32
  tile.store %to, %v : tensor<32768x!tile.ptr<f32>>, tensor<32768xf32>
  return %sum : f32
}

// Another store stands between the load and its store.
// CHECK-LABEL: func.func @between
// CHECK-NOT: scf.for
// CHECK: return
func.func @between(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %z: !tile.ptr<f32>, %n: f32) attributes {tile.num_warps = 4 : i32, tile.overlapping = array<i32>} {
  %r = tile.make_range 0 to 32768 : tensor<32768xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<32768x!tile.ptr<f32>>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<32768x!tile.ptr<f32>>
  %from = tile.addptr %xs, %r : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
  %to = tile.addptr %ys, %r : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
  %v = tile.load %from : tensor<32768x!tile.ptr<f32>> -> tensor<32768xf32>
  tile.store %z, %n : !tile.ptr<f32>, f32
  tile.store %to, %v : tensor<32768x!tile.ptr<f32>>, tensor<32768xf32>
  return
}

// 128 elements of a thread are computed at once.
// CHECK-LABEL: func.func @short
// CHECK-NOT: scf.for
// CHECK: return
func.func @short(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>) attributes {tile.num_warps = 8 : i32, tile.overlapping = array<i32>} {
  %r = tile.make_range 0 to 32768 : tensor<32768xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<32768x!tile.ptr<f32>>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<32768x!tile.ptr<f32>>
  %from = tile.addptr %xs, %r : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
  %to = tile.addptr %ys, %r : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
  %v = tile.load %from : tensor<32768x!tile.ptr<f32>> -> tensor<32768xf32>
  tile.store %to, %v : tensor<32768x!tile.ptr<f32>>, tensor<32768xf32>
  return
}

// A column is divided along the result's second dimension, and whole where it is repeated along it.
// CHECK-LABEL: func.func @divided_and_whole
// CHECK: scf.for
// CHECK-DAG: tile.broadcast %{{.*}} : tensor<32x1xi32> -> tensor<32x8xi32>
// CHECK-DAG: tile.expand_dims %{{.*}} at 0 : tensor<8x1xi32> -> tensor<1x8x1xi32>
// CHECK: tile.store {{.*}} tensor<32x8x32xi32>
func.func @divided_and_whole(%y: !tile.ptr<i32>, %whole: tensor<32x1x1xi32>) attributes {tile.num_warps = 4 : i32, tile.overlapping = array<i32>} {
  %r = tile.make_range 0 to 32 : tensor<32xi32>
  %s = tile.expand_dims %r at 1 : tensor<32xi32> -> tensor<32x1xi32>
  %s3 = tile.expand_dims %s at 0 : tensor<32x1xi32> -> tensor<1x32x1xi32>
  %b = tile.broadcast %s : tensor<32x1xi32> -> tensor<32x32xi32>
  %b3 = tile.expand_dims %b at 2 : tensor<32x32xi32> -> tensor<32x32x1xi32>
  %rows = tile.broadcast %b3 : tensor<32x32x1xi32> -> tensor<32x32x32xi32>
  %columns = tile.broadcast %s3 : tensor<1x32x1xi32> -> tensor<32x32x32xi32>
  %wholes = tile.broadcast %whole : tensor<32x1x1xi32> -> tensor<32x32x32xi32>
  %sum = arith.addi %rows, %columns : tensor<32x32x32xi32>
  %at = arith.addi %sum, %wholes : tensor<32x32x32xi32>
  %ys = tile.splat %y : !tile.ptr<i32> -> tensor<32x32x32x!tile.ptr<i32>>
  %to = tile.addptr %ys, %at : tensor<32x32x32x!tile.ptr<i32>>, tensor<32x32x32xi32>
  tile.store %to, %at : tensor<32x32x32x!tile.ptr<i32>>, tensor<32x32x32xi32>
  return
}

// Parts begin at multiples of their size: of a promise about runs of 12288 positions, runs of 4096 are left.
// CHECK-LABEL: func.func @promised
// CHECK: arith.remui {{.*}} {tile.contiguity = array<i32: 4096>, tile.divisibility = array<i32: 4096>} : tensor<8192xi32>
func.func @promised(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %n: i32) attributes {tile.num_warps = 4 : i32, tile.overlapping = array<i32>} {
  %r = tile.make_range 0 to 32768 : tensor<32768xi32>
  %period = tile.splat %n : i32 -> tensor<32768xi32>
  %again = arith.remui %r, %period {tile.contiguity = array<i32: 12288>, tile.divisibility = array<i32: 12288>} : tensor<32768xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<32768x!tile.ptr<f32>>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<32768x!tile.ptr<f32>>
  %from = tile.addptr %xs, %again : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
  %to = tile.addptr %ys, %r : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
  %v = tile.load %from : tensor<32768x!tile.ptr<f32>> -> tensor<32768xf32>
  tile.store %to, %v : tensor<32768x!tile.ptr<f32>>, tensor<32768xf32>
  return
}
