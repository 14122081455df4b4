// tandemc compiles one kernel of a file and prints the output of a stage of the compiler, or writes it out for a GPU. The
// compiler is in libtandem.
#include "tandem/command_c_api.h"

int main(int argc, char** argv) { return td_compiler_command(argc, argv); }
