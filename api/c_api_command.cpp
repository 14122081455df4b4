// The compiler's command line behind the C ABI.
#include "compiler/driver/command_line.h"
#include "tandem/command_c_api.h"

int td_compiler_command(int argc, const char* const* argv) { return tandem::compiler::runCommandLine(argc, argv); }
