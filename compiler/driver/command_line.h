// The command `tandemc` as a function, so that the program and the library hold the compiler once.
#pragma once

namespace tandem::compiler {

// Does what the command line asks for; prints on the standard output and error. Returns the exit code: 0 done, 1 the kernel
// has an error, 2 the command line has one.
int runCommandLine(int argc, const char* const* argv);

}  // namespace tandem::compiler
