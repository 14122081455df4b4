// The build id names this build of the compiler: kernels compiled by another build are not reused.
#pragma once
#include <string>

namespace tandem::compiler {

// The linker's id of the library (or program) the compiler is part of; without one, that file's size and time.
const std::string& buildId();

// Path, size and time of a tool's file; another version of the tool is another file.
std::string fileIdentity(const std::string& path);

}  // namespace tandem::compiler
