// RUN: tandem-opt --nest-loops %s | FileCheck %s
// A loop over the steps of all tiles becomes two; a `while` with products that counts becomes a `for`.

// CHECK-LABEL: func.func @tiles
// CHECK: scf.for %[[TILE:.*]] = %arg4 to %{{.*}} step %c132_i32
// CHECK: %[[PLACE:.*]] = tile.splat %[[TILE]]
// CHECK: %[[SUM:.*]] = scf.for %[[STEP:.*]] = %c0_i32 to %arg1 step %c1_i32 iter_args(%[[ACC:.*]] = %{{.*}}) -> (tensor<64x64xf32>)
// CHECK-NOT: scf.if
// CHECK: tile.splat %[[STEP]]
// CHECK: %[[DOT:.*]] = tile.dot {{.*}} %[[ACC]]
// CHECK: scf.yield %[[DOT]]
// CHECK: tile.addptr %{{.*}}, %[[PLACE]]
// CHECK: tile.store %{{.*}}, %[[SUM]]
func.func @tiles(%x: !tile.ptr<f16>, %steps: i32, %tiles: i32, %o: !tile.ptr<f32>, %program: i32) attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %before = arith.constant -1 : i32
  %by = arith.constant 132 : i32
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %none = arith.constant dense<0> : tensor<64x64xi32>
  %all = arith.muli %steps, %tiles : i32
  %ahead = arith.subi %program, %by : i32
  %r:4 = scf.for %i = %c0 to %all step %c1 iter_args(%acc = %zeros, %count = %before, %tile = %ahead, %at = %none)
      -> (tensor<64x64xf32>, i32, i32, tensor<64x64xi32>) : i32 {
    %last = arith.subi %steps, %c1 : i32
    %ends = arith.cmpi eq, %count, %last : i32
    %more = arith.addi %count, %c1 : i32
    %now = arith.select %ends, %c0, %more : i32
    %begins = arith.cmpi eq, %now, %c0 : i32
    %place:2 = scf.if %begins -> (i32, tensor<64x64xi32>) {
      %next = arith.addi %tile, %by : i32
      %there = tile.splat %next : i32 -> tensor<64x64xi32>
      scf.yield %next, %there : i32, tensor<64x64xi32>
    } else {
      scf.yield %tile, %at : i32, tensor<64x64xi32>
    }
    %along = tile.splat %now : i32 -> tensor<64x64xi32>
    %base = tile.splat %x : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
    %from = tile.addptr %base, %along : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %a = tile.load %from : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
    %sum = tile.dot %a, %a, %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %isLast = arith.cmpi eq, %now, %last : i32
    %begun = scf.if %isLast -> (tensor<64x64xf32>) {
      %out = tile.splat %o : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
      %to = tile.addptr %out, %place#1 : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
      tile.store %to, %sum : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
      scf.yield %zeros : tensor<64x64xf32>
    } else {
      scf.yield %sum : tensor<64x64xf32>
    }
    scf.yield %begun, %now, %place#0, %place#1 : tensor<64x64xf32>, i32, i32, tensor<64x64xi32>
  }
  return
}

// The steps are not known to end with a count.
// CHECK-LABEL: func.func @other_length
// CHECK: scf.for
// CHECK-NOT: scf.for
func.func @other_length(%steps: i32, %all: i32, %a: tensor<64x64xf16>, %o: tensor<64x64x!tile.ptr<f32>>) attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %last = arith.subi %steps, %c1 : i32
  %r:2 = scf.for %i = %c0 to %all step %c1 iter_args(%acc = %zeros, %count = %c0) -> (tensor<64x64xf32>, i32) : i32 {
    %sum = tile.dot %a, %a, %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %ends = arith.cmpi eq, %count, %last : i32
    %begun = scf.if %ends -> (tensor<64x64xf32>) {
      tile.store %o, %sum : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
      scf.yield %zeros : tensor<64x64xf32>
    } else {
      scf.yield %sum : tensor<64x64xf32>
    }
    %more = arith.addi %count, %c1 : i32
    %next = arith.select %ends, %c0, %more : i32
    scf.yield %begun, %next : tensor<64x64xf32>, i32
  }
  return
}

// The count begins at zero, and nothing happens there.
// CHECK-LABEL: func.func @from_zero
// CHECK: scf.for
// CHECK: scf.for {{.*}} step %c1_i32 iter_args(%{{.*}} = %cst) -> (tensor<64x64xf32>)
// CHECK: tile.store
func.func @from_zero(%steps: i32, %tiles: i32, %a: tensor<64x64xf16>, %o: tensor<64x64x!tile.ptr<f32>>) attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %last = arith.subi %steps, %c1 : i32
  %all = arith.muli %tiles, %steps : i32
  %r:2 = scf.for %i = %c0 to %all step %c1 iter_args(%acc = %zeros, %count = %c0) -> (tensor<64x64xf32>, i32) : i32 {
    %sum = tile.dot %a, %a, %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %ends = arith.cmpi eq, %count, %last : i32
    %begun = scf.if %ends -> (tensor<64x64xf32>) {
      tile.store %o, %sum : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
      scf.yield %zeros : tensor<64x64xf32>
    } else {
      scf.yield %sum : tensor<64x64xf32>
    }
    %more = arith.addi %count, %c1 : i32
    %next = arith.select %ends, %c0, %more : i32
    scf.yield %begun, %next : tensor<64x64xf32>, i32
  }
  return
}

// CHECK-LABEL: func.func @counts_up
// CHECK: %[[R:.*]]:2 = scf.for %{{.*}} = %c0_i32 to %arg0 step %c64_i32
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @counts_up(%n: i32, %a: tensor<64x64xf16>) -> (tensor<64x64xf32>, i32) attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %r:2 = scf.while (%acc = %zeros, %k = %c0) : (tensor<64x64xf32>, i32) -> (tensor<64x64xf32>, i32) {
    %goes = arith.cmpi slt, %k, %n : i32
    scf.condition(%goes) %acc, %k : tensor<64x64xf32>, i32
  } do {
  ^bb0(%acc: tensor<64x64xf32>, %k: i32):
    %sum = tile.dot %a, %a, %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %next = arith.addi %k, %step : i32
    scf.yield %sum, %next : tensor<64x64xf32>, i32
  }
  return %r#0, %r#1 : tensor<64x64xf32>, i32
}

// CHECK-LABEL: func.func @counts_down
// CHECK: scf.for %[[DONE:.*]] = %c0_i32 to %arg0 step %c64_i32
// CHECK: arith.subi %arg0, %[[DONE]]
func.func @counts_down(%n: i32, %a: tensor<64x64xf16>, %o: !tile.ptr<i32>) -> tensor<64x64xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %r:2 = scf.while (%acc = %zeros, %k = %n) : (tensor<64x64xf32>, i32) -> (tensor<64x64xf32>, i32) {
    %goes = arith.cmpi sgt, %k, %c0 : i32
    scf.condition(%goes) %acc, %k : tensor<64x64xf32>, i32
  } do {
  ^bb0(%acc: tensor<64x64xf32>, %k: i32):
    tile.store %o, %k : !tile.ptr<i32>, i32
    %sum = tile.dot %a, %a, %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %next = arith.subi %k, %step : i32
    scf.yield %sum, %next : tensor<64x64xf32>, i32
  }
  return %r#0 : tensor<64x64xf32>
}

// A step that the loop changes is not counted.
// CHECK-LABEL: func.func @other_steps
// CHECK: scf.while
func.func @other_steps(%n: i32, %a: tensor<64x64xf16>) -> tensor<64x64xf32> attributes {tile.num_warps = 4 : i32} {
  %c1 = arith.constant 1 : i32
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %r:2 = scf.while (%acc = %zeros, %k = %c1) : (tensor<64x64xf32>, i32) -> (tensor<64x64xf32>, i32) {
    %goes = arith.cmpi slt, %k, %n : i32
    scf.condition(%goes) %acc, %k : tensor<64x64xf32>, i32
  } do {
  ^bb0(%acc: tensor<64x64xf32>, %k: i32):
    %sum = tile.dot %a, %a, %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %next = arith.addi %k, %k : i32
    scf.yield %sum, %next : tensor<64x64xf32>, i32
  }
  return %r#0 : tensor<64x64xf32>
}
