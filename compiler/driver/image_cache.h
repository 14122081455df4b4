// Compiled kernels on disk: a process that finds its kernels there starts no compiler. Any number of processes may
// share a folder.
#pragma once
#include "compiler/driver/compile_image.h"

namespace tandem::compiler {

// $TANDEM_CACHE_DIR, else $XDG_CACHE_HOME/tandem, else ~/.cache/tandem; "" when there is none or $TANDEM_CACHE is 0.
std::string cacheFolder();

// SHA-256 of the request, the compiler's build and the tools it calls.
std::string imageKey(const std::string& requestJson);

// Null when there is no such file, it is damaged or it was stored under another key.
std::shared_ptr<abi::KernelImage> findImage(const std::string& folder, const std::string& key);
// Writes the file whole or not at all. Returns why it could not be written; empty if it was.
std::string storeImage(const std::string& folder, const std::string& key, const abi::KernelImage& image);

// compileToImage, once for all processes. Warnings are given by the process that compiles. A folder that cannot be
// written is no error: the next process compiles again. The first kernel that could not be kept is told on the standard
// error.
CompiledImage compileCached(const std::string& requestJson);

}  // namespace tandem::compiler
