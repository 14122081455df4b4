// Lists the candidate files in order and takes the first that is there.
#include "compiler/codegen/nvidia/tool_search.h"
#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace tandem::codegen {
namespace {
namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Strings splitAtColons(const std::string& list) {
  Strings parts;
  for (size_t start = 0; start < list.size();) {
    size_t end = std::min(list.find(':', start), list.size());
    if (end > start) parts.push_back(list.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

// /usr/local/cuda, then its versioned neighbours, newest first.
Strings installedToolkits() {
  Strings versioned;
  std::error_code failed;
  for (fs::directory_iterator it("/usr/local", failed), end; !failed && it != end; it.increment(failed))
    if (it->path().filename().string().starts_with("cuda-")) versioned.push_back(it->path().string());
  std::sort(versioned.rbegin(), versioned.rend());
  versioned.insert(versioned.begin(), "/usr/local/cuda");
  return versioned;
}

Strings toolkits() {
  Strings roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (std::string root = environment(variable); !root.empty()) roots.push_back(root);
  for (std::string& root : installedToolkits()) roots.push_back(std::move(root));
  roots.push_back("/usr/lib/cuda");
  roots.push_back("/usr/lib/nvidia-cuda-toolkit");
  return roots;
}

Strings wheelFolders(const ToolPaths& paths) {
  Strings folders = paths.sitePackages;
  for (std::string& folder : splitAtColons(environment("TANDEM_SITE_PACKAGES"))) folders.push_back(std::move(folder));
  return folders;
}

std::optional<std::string> firstFile(const Strings& candidates, Strings& searched) {
  for (const std::string& candidate : candidates) {
    std::error_code failed;
    if (fs::is_regular_file(candidate, failed)) return candidate;
    searched.push_back(candidate);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> findPtxas(const ToolPaths& paths, Strings& searched) {
  if (!paths.ptxas.empty()) return firstFile({paths.ptxas}, searched);
  if (std::string named = environment("TANDEM_PTXAS"); !named.empty()) return firstFile({named}, searched);
  Strings candidates;
  for (const std::string& folder : splitAtColons(environment("PATH"))) candidates.push_back(folder + "/ptxas");
  for (const std::string& root : toolkits()) candidates.push_back(root + "/bin/ptxas");
  for (const std::string& folder : wheelFolders(paths))
    for (const char* inside :
         {"/nvidia/cuda_nvcc/bin/ptxas", "/nvidia/cu13/bin/ptxas", "/triton/backends/nvidia/bin/ptxas"})
      candidates.push_back(folder + inside);
  return firstFile(candidates, searched);
}

std::optional<std::string> findLibdevice(const ToolPaths& paths, Strings& searched) {
  if (!paths.libdevice.empty()) return firstFile({paths.libdevice}, searched);
  if (std::string named = environment("TANDEM_LIBDEVICE"); !named.empty()) return firstFile({named}, searched);
  Strings candidates;
  for (const std::string& root : toolkits()) {
    candidates.push_back(root + "/nvvm/libdevice/libdevice.10.bc");
    candidates.push_back(root + "/libdevice/libdevice.10.bc");
  }
  for (const std::string& folder : wheelFolders(paths))
    for (const char* inside :
         {"/nvidia/cuda_nvcc/nvvm/libdevice", "/nvidia/cu13/nvvm/libdevice", "/triton/backends/nvidia/lib"})
      candidates.push_back(folder + inside + "/libdevice.10.bc");
  return firstFile(candidates, searched);
}

}  // namespace tandem::codegen
