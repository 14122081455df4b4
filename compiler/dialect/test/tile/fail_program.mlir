// The grid has three axes.
// RUN: tandem-opt %s -split-input-file -verify-diagnostics

func.func @f() {
  // expected-error @+1 {{`tile.program_id` axis 3 is outside 0 to 2}}
  %0 = tile.program_id 3
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{`tile.num_programs` axis -1 is outside 0 to 2}}
  %0 = tile.num_programs -1
  return
}
