// Kernels of embedded files, each made once.
#include "ops/kernel_text.h"
#include <map>
#include <mutex>

namespace tandem::ops {

// The generated file defines this: path and text of each kernel file.
const std::map<std::string, std::string>& embeddedFiles();

const Kernel& kernelOf(const std::string& path, const std::string& name) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, Kernel> kernels;
  std::lock_guard lock(mutex);
  auto it = kernels.find({path, name});
  if (it == kernels.end())
    it = kernels.emplace(std::pair(path, name), Kernel::fromText(embeddedFiles().at(path), path, name, embeddedFiles()))
             .first;
  return it->second;
}

}  // namespace tandem::ops
