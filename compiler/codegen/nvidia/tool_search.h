// NVIDIA's assembler and bitcode library may be told, named by the environment, or lie in a CUDA toolkit or a Python
// wheel; this header finds them.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace tandem::codegen {

struct ToolPaths {
  std::string ptxas{};                      // a file; empty: search
  std::string libdevice{};                  // a file; empty: search
  std::vector<std::string> sitePackages{};  // folders that hold the packages `nvidia` or `triton`
};

// A file that exists, or nothing; the places looked at are added to `searched`. Order: `paths`; $TANDEM_PTXAS or
// $TANDEM_LIBDEVICE; (ptxas) $PATH; $CUDA_HOME; $CUDA_PATH; /usr/local/cuda*; Debian's folders; `paths.sitePackages`;
// the folders of $TANDEM_SITE_PACKAGES, separated by colons.
std::optional<std::string> findPtxas(const ToolPaths& paths, std::vector<std::string>& searched);
std::optional<std::string> findLibdevice(const ToolPaths& paths, std::vector<std::string>& searched);

}  // namespace tandem::codegen
