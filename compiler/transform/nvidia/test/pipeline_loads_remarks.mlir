// pipeline-loads says of each load in a loop how far ahead it is copied and by what, or why it is not.
// RUN: tandem-opt --pipeline-loads=target=sm_89 --remarks-filter=.* -o /dev/null %s 2>&1 | FileCheck %s

// CHECK: :[[#@LINE+11]]:{{[0-9]+}}: remark: [Passed] load | Category:pipeline-loads | Function=ahead |
// CHECK-SAME: copied by cp.async 2 iterations ahead, 16 bytes a thread at once, into a ring of 3 slots
func.func @ahead(%x: !tile.ptr<f32> {tile.multiple_of = 16 : i32}, %n: i32) -> tensor<512xf32> attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 512 : i32
  %none = arith.constant dense<0.0> : tensor<512xf32>
  %range = tile.make_range 0 to 512 : tensor<512xi32>
  %r = scf.for %i = %zero to %n step %step iter_args(%sum = %none) -> (tensor<512xf32>) : i32 {
    %at = tile.addptr %x, %i : !tile.ptr<f32>, i32
    %base = tile.splat %at : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
    %p = tile.addptr %base, %range : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
    %v = tile.load %p : tensor<512x!tile.ptr<f32>> -> tensor<512xf32>
    %s = arith.addf %sum, %v : tensor<512xf32>
    scf.yield %s : tensor<512xf32>
  } {tile.num_stages = 3 : i32}
  return %r : tensor<512xf32>
}

// CHECK: [Missed] load | {{.*}} | Function=unasked |
// CHECK-SAME: not copied ahead of its loop: its loop multiplies nothing and asks for no stages
// CHECK-SAME: Suggestion="tl.range(..., num_stages=3)"
func.func @unasked(%p: tensor<512x!tile.ptr<f32>>, %n: i32) -> tensor<512xf32> attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<512xf32>
  %r = scf.for %i = %zero to %n step %one iter_args(%sum = %none) -> (tensor<512xf32>) : i32 {
    %v = tile.load %p : tensor<512x!tile.ptr<f32>> -> tensor<512xf32>
    %s = arith.addf %sum, %v : tensor<512xf32>
    scf.yield %s : tensor<512xf32>
  }
  return %r : tensor<512xf32>
}

// CHECK: [Missed] load | {{.*}} | Function=narrow |
// CHECK-SAME: a thread finds 2 bytes side by side, and cp.async copies 4, 8 or 16
// CHECK-SAME: Suggestion="contiguous, aligned rows: tl.multiple_of, tl.max_contiguous"
func.func @narrow(%p: tensor<512x!tile.ptr<f16>>, %n: i32) -> tensor<512xf16> attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<512xf16>
  %r = scf.for %i = %zero to %n step %one iter_args(%sum = %none) -> (tensor<512xf16>) : i32 {
    %v = tile.load %p : tensor<512x!tile.ptr<f16>> -> tensor<512xf16>
    %s = arith.addf %sum, %v : tensor<512xf16>
    scf.yield %s : tensor<512xf16>
  } {tile.num_stages = 3 : i32}
  return %r : tensor<512xf16>
}

// CHECK: [Missed] load | {{.*}} | Function=written |
// CHECK-SAME: line [[#@LINE+7]] may write what it reads
func.func @written(%x: !tile.ptr<f32>, %n: i32) attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %p = tile.splat %x : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
  scf.for %i = %zero to %n step %one : i32 {
    %v = tile.load %p : tensor<512x!tile.ptr<f32>> -> tensor<512xf32>
    tile.store %p, %v : tensor<512x!tile.ptr<f32>>, tensor<512xf32>
  } {tile.num_stages = 3 : i32}
  return
}

// CHECK: [Passed] load | {{.*}} | Function=chosen |
// CHECK-SAME: copied by cp.async 2 iterations ahead, 4 bytes a thread at once, into a ring of 3 slots
func.func @chosen(%p: tensor<512x!tile.ptr<f32>>, %q: tensor<512x!tile.ptr<f32>>, %n: i32) -> tensor<512xf32>
    attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<512xf32>
  %r = scf.for %i = %zero to %n step %one iter_args(%sum = %none) -> (tensor<512xf32>) : i32 {
    %c = arith.cmpi eq, %i, %zero : i32
    %at = scf.if %c -> (tensor<512x!tile.ptr<f32>>) {
      scf.yield %p : tensor<512x!tile.ptr<f32>>
    } else {
      scf.yield %q : tensor<512x!tile.ptr<f32>>
    }
    %v = tile.load %at : tensor<512x!tile.ptr<f32>> -> tensor<512xf32>
    %s = arith.addf %sum, %v : tensor<512xf32>
    scf.yield %s : tensor<512xf32>
  } {tile.num_stages = 3 : i32}
  return %r : tensor<512xf32>
}

// CHECK: [Missed] load | {{.*}} | Function=stepped |
// CHECK-SAME: its address depends on a loop of the same iteration, line [[#@LINE+8]]
func.func @stepped(%p: tensor<512x!tile.ptr<f32>>, %n: i32) -> tensor<512xf32> attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<512xf32>
  %steps = arith.constant dense<1> : tensor<512xi32>
  %r = scf.for %i = %zero to %n step %one iter_args(%sum = %none) -> (tensor<512xf32>) : i32 {
    // The address takes as many steps as there were iterations.
    %at = scf.for %j = %zero to %i step %one iter_args(%q = %p) -> (tensor<512x!tile.ptr<f32>>) : i32 {
      %next = tile.addptr %q, %steps : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
      scf.yield %next : tensor<512x!tile.ptr<f32>>
    }
    %v = tile.load %at : tensor<512x!tile.ptr<f32>> -> tensor<512xf32>
    %s = arith.addf %sum, %v : tensor<512xf32>
    scf.yield %s : tensor<512xf32>
  } {tile.num_stages = 3 : i32}
  return %r : tensor<512xf32>
}

// CHECK: [Missed] load | {{.*}} | Function=large |
// CHECK-SAME: the shared memory of sm_89 has no room for more of 65536 bytes
func.func @large(%x: !tile.ptr<f32> {tile.multiple_of = 16 : i32}, %n: i32) -> tensor<16384xf32> attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<16384xf32>
  %range = tile.make_range 0 to 16384 : tensor<16384xi32>
  %base = tile.splat %x : !tile.ptr<f32> -> tensor<16384x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<16384x!tile.ptr<f32>>, tensor<16384xi32>
  %r = scf.for %i = %zero to %n step %one iter_args(%sum = %none) -> (tensor<16384xf32>) : i32 {
    %v = tile.load %p : tensor<16384x!tile.ptr<f32>> -> tensor<16384xf32>
    %s = arith.addf %sum, %v : tensor<16384xf32>
    scf.yield %s : tensor<16384xf32>
  } {tile.num_stages = 3 : i32}
  return %r : tensor<16384xf32>
}

// CHECK: [Missed] load | {{.*}} | Function=branch |
// CHECK-SAME: it is in a branch, or in a loop whose end is not known before it begins
func.func @branch(%p: tensor<512x!tile.ptr<f32>>, %n: i32, %c: i1) -> tensor<512xf32> attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<512xf32>
  %r = scf.for %i = %zero to %n step %one iter_args(%sum = %none) -> (tensor<512xf32>) : i32 {
    %v = scf.if %c -> (tensor<512xf32>) {
      %w = tile.load %p : tensor<512x!tile.ptr<f32>> -> tensor<512xf32>
      scf.yield %w : tensor<512xf32>
    } else {
      scf.yield %none : tensor<512xf32>
    }
    %s = arith.addf %sum, %v : tensor<512xf32>
    scf.yield %s : tensor<512xf32>
  } {tile.num_stages = 3 : i32}
  return %r : tensor<512xf32>
}

// CHECK: [Passed] load | {{.*}} | Function=next |
// CHECK-SAME: copied by cp.async 1 iteration ahead, 16 bytes a thread at once, into a ring of 2 slots
func.func @next(%x: !tile.ptr<f32> {tile.multiple_of = 16 : i32}, %n: i32) -> tensor<512xf32> attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<512xf32>
  %range = tile.make_range 0 to 512 : tensor<512xi32>
  %base = tile.splat %x : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
  %r = scf.for %i = %zero to %n step %one iter_args(%sum = %none) -> (tensor<512xf32>) : i32 {
    %v = tile.load %p : tensor<512x!tile.ptr<f32>> -> tensor<512xf32>
    %s = arith.addf %sum, %v : tensor<512xf32>
    scf.yield %s : tensor<512xf32>
  } {tile.num_stages = 2 : i32}
  return %r : tensor<512xf32>
}
