// Round trip of the grid's ops.
// RUN: tandem-opt %s | tandem-opt | FileCheck %s
// RUN: tandem-opt %s --mlir-print-op-generic | tandem-opt | FileCheck %s

func.func @program() {
  // CHECK: tile.program_id 0
  %0 = tile.program_id 0
  // CHECK: tile.num_programs 2
  %1 = tile.num_programs 2
  return
}
