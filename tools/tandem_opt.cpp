// tandem-opt runs the compiler's passes over a text of its dialects. The compiler is in libtandem.
#include "tandem/command_c_api.h"

int main(int argc, char** argv) { return td_optimizer_command(argc, argv); }
