// RUN: tandem-opt --group-programs --split-input-file %s | FileCheck %s
// A row-major product: rows and columns of tiles come from groups of eight rows; programs behind the last whole row keep their places.

// CHECK-LABEL: func.func @row_major
// CHECK-DAG:   %[[ID:.*]] = tile.program_id 0
// CHECK:       %[[ALL:.*]] = tile.num_programs 0
// CHECK-NEXT:  %[[ROWS:.*]] = arith.divsi %[[ALL]], %[[N:arg[0-9]+]]
// CHECK-NEXT:  %[[SIZE:.*]] = arith.muli %[[H:.*]], %[[N]]
// CHECK-NEXT:  %[[GROUP:.*]] = arith.divsi %[[ID]], %[[SIZE]]
// CHECK-NEXT:  %[[ABOVE:.*]] = arith.muli %[[GROUP]], %[[H]]
// CHECK-NEXT:  %[[WITHIN:.*]] = arith.remsi %[[ID]], %[[SIZE]]
// CHECK-NEXT:  %[[BELOW:.*]] = arith.subi %[[ROWS]], %[[ABOVE]]
// CHECK-NEXT:  %[[FEWER:.*]] = arith.minsi %[[BELOW]], %[[H]]
// CHECK-NEXT:  %[[OWN:.*]] = arith.maxsi %[[FEWER]]
// CHECK:       %[[ROW:.*]] = arith.addi %[[ABOVE]]
// CHECK-NEXT:  %[[COLUMN:.*]] = arith.divsi %[[WITHIN]], %[[OWN]]
// CHECK:       %[[WHOLE:.*]] = arith.cmpi slt, %[[ID]]
// CHECK:       arith.select %[[WHOLE]], %[[ROW]]
// CHECK:       arith.select %[[WHOLE]], %[[COLUMN]]
func.func @row_major(%a: !tile.ptr<f16>, %b: !tile.ptr<f16>, %columns: i32, %k: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum = arith.constant dense<0.0> : tensor<64x64xf32>
  %id = tile.program_id 0
  %row = arith.divsi %id, %columns : i32
  %column = arith.remsi %id, %columns : i32
  %i = tile.splat %row : i32 -> tensor<64x64xi32>
  %j = tile.splat %column : i32 -> tensor<64x64xi32>
  %as = tile.splat %a : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
  %bs = tile.splat %b : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
  %ap = tile.addptr %as, %i : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  %bp = tile.addptr %bs, %j : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  %r = scf.for %at = %zero to %k step %one iter_args(%acc = %sum) -> (tensor<64x64xf32>) : i32 {
    %x = tile.load %ap : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
    %y = tile.load %bp : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
    %d = tile.dot %x, %y, %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  return
}

// -----
// Keys and values of a head: both operands are of the quotient.
// CHECK-LABEL: func.func @heads
// CHECK-NOT:   tile.num_programs
func.func @heads(%a: !tile.ptr<f16>, %b: !tile.ptr<f16>, %columns: i32, %k: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum = arith.constant dense<0.0> : tensor<64x64xf32>
  %id = tile.program_id 0
  %row = arith.divsi %id, %columns : i32
  %column = arith.remsi %id, %columns : i32
  %both = arith.addi %row, %column : i32
  %i = tile.splat %row : i32 -> tensor<64x64xi32>
  %j = tile.splat %both : i32 -> tensor<64x64xi32>
  %as = tile.splat %a : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
  %bs = tile.splat %b : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
  %ap = tile.addptr %as, %i : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  %bp = tile.addptr %bs, %j : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  %r = scf.for %at = %zero to %k step %one iter_args(%acc = %sum) -> (tensor<64x64xf32>) : i32 {
    %x = tile.load %ap : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
    %y = tile.load %bp : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
    %d = tile.dot %x, %y, %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  return
}
