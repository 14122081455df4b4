// Lists the candidate folders in order and takes the first that has both files.
#include "base/nvshmem_install.h"
#include <cstdlib>
#include <filesystem>

namespace tandem {
namespace {
namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> roots() {
  if (std::string named = environment("TANDEM_NVSHMEM"); !named.empty()) return {named};
  std::vector<std::string> out;
  if (std::string home = environment("NVSHMEM_HOME"); !home.empty()) out.push_back(home);
  std::string packages = environment("TANDEM_SITE_PACKAGES");
  for (size_t start = 0; start < packages.size();) {
    size_t end = std::min(packages.find(':', start), packages.size());
    if (end > start) out.push_back(packages.substr(start, end - start) + "/nvidia/nvshmem");
    start = end + 1;
  }
  for (const char* system :
       {"/usr/local/nvshmem", "/usr/lib/x86_64-linux-gnu/nvshmem/13", "/usr/lib/x86_64-linux-gnu/nvshmem/12"})
    out.push_back(system);
  return out;
}

bool isFile(const std::string& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed);
}

}  // namespace

std::optional<NvshmemInstall> findNvshmem(std::vector<std::string>& searched) {
  for (const std::string& root : roots())
    for (const std::string& folder : {root + "/lib", root}) {
      NvshmemInstall found{folder + "/libnvshmem_device.bc", folder + "/libnvshmem_host.so.3"};
      if (isFile(found.bitcode) && isFile(found.host)) return found;
      searched.push_back(folder);
    }
  return std::nullopt;
}

std::string searchedForNvshmem(const std::vector<std::string>& searched) {
  std::string text = "NVSHMEM was looked for in";
  for (const std::string& folder : searched) text += "\n  " + folder;
  return text;
}

}  // namespace tandem
