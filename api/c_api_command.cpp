// The compiler's command lines behind the C ABI.
#include "compiler/driver/command_line.h"
#include "compiler/driver/optimizer.h"
#include "tandem/command_c_api.h"

int td_compiler_command(int argc, const char* const* argv) { return tandem::compiler::runCommandLine(argc, argv); }

int td_optimizer_command(int argc, const char* const* argv) { return tandem::compiler::runOptimizer(argc, argv); }
