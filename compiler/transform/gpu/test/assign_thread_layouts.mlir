// RUN: tandem-opt --split-input-file --assign-thread-layouts --verify-diagnostics %s | FileCheck %s
// RUN: tandem-opt --split-input-file --assign-thread-layouts=lanes=64 --verify-diagnostics %s | FileCheck %s --check-prefix=WIDE
// Accesses are coalesced over a warp's lanes, of which a GPU has as many as the option says; a sum has the layout of
// its operands, and a tile that no access reaches a default.

// CHECK-LABEL: func.func @add
// CHECK: tile.load {{.*}}tgpu.layout = [#tgpu.layout<[512], registers = [1, 2], lanes = [4, 8, 16, 32, 64], warps = [128, 256]>]
// CHECK: arith.addf {{.*}}tgpu.layout = [#tgpu.layout<[512], registers = [1, 2], lanes = [4, 8, 16, 32, 64], warps = [128, 256]>]
// WIDE-LABEL: func.func @add
// WIDE: tile.load {{.*}}tgpu.layout = [#tgpu.layout<[512], registers = [1], lanes = [2, 4, 8, 16, 32, 64], warps = [128, 256]>]
func.func @add(%x: !tile.ptr<f32> {tile.multiple_of = 16 : i32}) attributes {tile.num_warps = 4 : i32} {
  %range = tile.make_range 0 to 512 : tensor<512xi32>
  %base = tile.splat %x : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
  %at = tile.addptr %base, %range : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
  %v = tile.load %at : tensor<512x!tile.ptr<f32>> -> tensor<512xf32>
  %s = arith.addf %v, %v : tensor<512xf32>
  tile.store %at, %s : tensor<512x!tile.ptr<f32>>, tensor<512xf32>
  return
}

// Tiles that are computed with each other share the most that one load moves at once, eight of 16 bits; the other takes two
// accesses. A tile that nothing joins to them has its own.
// CHECK-LABEL: func.func @together
// CHECK: tile.load {{.*}}tgpu.layout = [#tgpu.layout<[2048], registers = [1, 2, 4, 1024], lanes = [8, 16, 32, 64, 128], warps = [256, 512]>], tgpu.vector = array<i32: 8, 0>
// CHECK: tile.load {{.*}}tgpu.layout = [#tgpu.layout<[2048], registers = [1, 2, 4, 1024], lanes = [8, 16, 32, 64, 128], warps = [256, 512]>], tgpu.vector = array<i32: 4, 0>
// CHECK: tile.load {{.*}}tgpu.layout = [#tgpu.layout<[2048], registers = [1, 2, 512, 1024], lanes = [4, 8, 16, 32, 64], warps = [128, 256]>], tgpu.vector = array<i32: 4, 0>
// CHECK-NOT: convert_layout
// CHECK: return
func.func @together(%x: !tile.ptr<f16> {tile.multiple_of = 16 : i32}, %y: !tile.ptr<f32> {tile.multiple_of = 16 : i32},
                    %z: !tile.ptr<f32> {tile.multiple_of = 16 : i32}) attributes {tile.num_warps = 4 : i32} {
  %range = tile.make_range 0 to 2048 : tensor<2048xi32>
  %xs = tile.splat %x : !tile.ptr<f16> -> tensor<2048x!tile.ptr<f16>>
  %xat = tile.addptr %xs, %range : tensor<2048x!tile.ptr<f16>>, tensor<2048xi32>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<2048x!tile.ptr<f32>>
  %yat = tile.addptr %ys, %range : tensor<2048x!tile.ptr<f32>>, tensor<2048xi32>
  %zs = tile.splat %z : !tile.ptr<f32> -> tensor<2048x!tile.ptr<f32>>
  %zat = tile.addptr %zs, %range : tensor<2048x!tile.ptr<f32>>, tensor<2048xi32>
  %a = tile.load %xat : tensor<2048x!tile.ptr<f16>> -> tensor<2048xf16>
  %b = tile.load %yat : tensor<2048x!tile.ptr<f32>> -> tensor<2048xf32>
  %c = tile.load %zat : tensor<2048x!tile.ptr<f32>> -> tensor<2048xf32>
  %h = tile.fp_to_fp %b : tensor<2048xf32> -> tensor<2048xf16>
  %s = arith.addf %a, %h : tensor<2048xf16>
  tile.store %xat, %s : tensor<2048x!tile.ptr<f16>>, tensor<2048xf16>
  tile.store %zat, %c : tensor<2048x!tile.ptr<f32>>, tensor<2048xf32>
  return
}

// Neighbours that do not begin at a word stay in neighbouring lanes, though they are added to those that do.
// CHECK-LABEL: func.func @apart
// CHECK: tile.load {{.*}}registers = [1, 2, 512, 1024], lanes = [4, 8, 16, 32, 64]
// CHECK: tile.load {{.*}}registers = [128, {{.*}}lanes = [1, 2, 4, 8, 16]
func.func @apart(%x: !tile.ptr<f32> {tile.multiple_of = 16 : i32}, %y: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32} {
  %range = tile.make_range 0 to 2048 : tensor<2048xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<2048x!tile.ptr<f32>>
  %xat = tile.addptr %xs, %range : tensor<2048x!tile.ptr<f32>>, tensor<2048xi32>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<2048x!tile.ptr<f32>>
  %yat = tile.addptr %ys, %range : tensor<2048x!tile.ptr<f32>>, tensor<2048xi32>
  %a = tile.load %xat : tensor<2048x!tile.ptr<f32>> -> tensor<2048xf32>
  %b = tile.load %yat : tensor<2048x!tile.ptr<f32>> -> tensor<2048xf32>
  %s = arith.addf %a, %b : tensor<2048xf32>
  tile.store %xat, %s : tensor<2048x!tile.ptr<f32>>, tensor<2048xf32>
  return
}

// A row that fewer elements than threads make up is still read in whole words where each thread holds several of it.
// CHECK-LABEL: func.func @row
// CHECK: tile.load {{.*}}tgpu.vector = array<i32: 8, 1>} : tensor<32x64x!tile.ptr<f16>>
// CHECK: tile.load {{.*}}registers = [1, 2, 4], {{.*}}tgpu.vector = array<i32: 8, 1>} : tensor<1x64x!tile.ptr<f16>>
func.func @row(%x: !tile.ptr<f16> {tile.multiple_of = 16 : i32}, %y: !tile.ptr<f16> {tile.multiple_of = 16 : i32})
    attributes {tile.num_warps = 4 : i32} {
  %columns = tile.make_range 0 to 64 : tensor<64xi32>
  %at = tile.expand_dims %columns at 0 : tensor<64xi32> -> tensor<1x64xi32>
  %rows = tile.make_range 0 to 32 : tensor<32xi32>
  %down = tile.expand_dims %rows at 1 : tensor<32xi32> -> tensor<32x1xi32>
  %c64 = arith.constant dense<64> : tensor<32x1xi32>
  %begin = arith.muli %down, %c64 : tensor<32x1xi32>
  %begins = tile.broadcast %begin : tensor<32x1xi32> -> tensor<32x64xi32>
  %ats = tile.broadcast %at : tensor<1x64xi32> -> tensor<32x64xi32>
  %offsets = arith.addi %begins, %ats : tensor<32x64xi32>
  %xs = tile.splat %x : !tile.ptr<f16> -> tensor<32x64x!tile.ptr<f16>>
  %xat = tile.addptr %xs, %offsets : tensor<32x64x!tile.ptr<f16>>, tensor<32x64xi32>
  %ys = tile.splat %y : !tile.ptr<f16> -> tensor<1x64x!tile.ptr<f16>>
  %yat = tile.addptr %ys, %at : tensor<1x64x!tile.ptr<f16>>, tensor<1x64xi32>
  %a = tile.load %xat : tensor<32x64x!tile.ptr<f16>> -> tensor<32x64xf16>
  %b = tile.load %yat : tensor<1x64x!tile.ptr<f16>> -> tensor<1x64xf16>
  %w = tile.broadcast %b : tensor<1x64xf16> -> tensor<32x64xf16>
  %s = arith.mulf %a, %w : tensor<32x64xf16>
  tile.store %xat, %s : tensor<32x64x!tile.ptr<f16>>, tensor<32x64xf16>
  return
}

// A product by multiply-adds gives each thread a patch of rows and columns, each warp 4 patches by a quarter of its lanes.
// CHECK-LABEL: func.func @multiply
// CHECK: tile.dot {{.*}} lanes = [{{[0-9]+, [0-9]+, [0-9]+, [0-9]+, [0-9]+}}],
// WIDE-LABEL: func.func @multiply
// WIDE: tile.dot {{.*}} lanes = [{{[0-9]+, [0-9]+, [0-9]+, [0-9]+, [0-9]+, [0-9]+}}],
func.func @multiply(%x: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32} {
  %a = arith.constant dense<1.0> : tensor<32x16xf32>
  %b = arith.constant dense<1.0> : tensor<16x32xf32>
  %c = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tile.dot %a, %b, %c : tensor<32x16xf32>, tensor<16x32xf32> -> tensor<32x32xf32>
  %at = tile.splat %x : !tile.ptr<f32> -> tensor<32x32x!tile.ptr<f32>>
  tile.store %at, %r : tensor<32x32x!tile.ptr<f32>>, tensor<32x32xf32>
  return
}

// -----

// expected-error @+1 {{has a tile as parameter 1; a kernel's parameters are scalars and pointers}}
func.func @takes_a_tile(%x: !tile.ptr<f32>, %v: tensor<8xf32>) attributes {tile.num_warps = 4 : i32} {
  return
}
