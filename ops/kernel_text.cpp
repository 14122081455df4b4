// Kernels of embedded files, each made once.
#include "ops/kernel_text.h"
#include <map>
#include <mutex>

namespace tandem::ops {

// The generated file defines this: path and text of each kernel file.
const std::map<std::string, std::string>& embeddedFiles();

const Kernel& kernelOf(std::string_view path, std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, std::map<std::string, Kernel, std::less<>>, std::less<>> files;
  std::lock_guard lock(mutex);
  auto file = files.find(path);
  if (file == files.end()) file = files.emplace(path, std::map<std::string, Kernel, std::less<>>()).first;
  auto kernel = file->second.find(name);
  if (kernel == file->second.end()) {
    Kernel made = Kernel::fromText(embeddedFiles().at(file->first), file->first, std::string(name), embeddedFiles());
    kernel = file->second.emplace(name, made).first;
  }
  return kernel->second;
}

}  // namespace tandem::ops
