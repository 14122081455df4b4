// The command `tandem-opt` as a function, so that the program and the library hold the compiler once.
#pragma once

namespace tandem::compiler {

// Reads IR of our dialects, runs the passes named on the command line, or the whole list of a target, and prints the
// result. Returns the exit code.
int runOptimizer(int argc, const char* const* argv);

}  // namespace tandem::compiler
