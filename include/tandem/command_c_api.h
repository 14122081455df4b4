/* The commands `tandemc` and `tandem-opt` as calls. */
#pragma once
#include "tandem/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Does what `tandemc` does with this command line, prints as it prints, and returns its exit code. */
TANDEM_API int td_compiler_command(int argc, const char* const* argv);
/* The same of `tandem-opt`. */
TANDEM_API int td_optimizer_command(int argc, const char* const* argv);

#ifdef __cplusplus
}
#endif
