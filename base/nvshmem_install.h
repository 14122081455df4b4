// These functions find NVSHMEM's installation: the compiler wants its bitcode, the runtime its host library, both of
// one version. They open no file.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace tandem {

struct NvshmemInstall {
  std::string bitcode, host;  // libnvshmem_device.bc and libnvshmem_host.so.3
};

// The first folder that has both files; the folders looked at are added to `searched`. Order: $TANDEM_NVSHMEM, alone
// when it is set; $NVSHMEM_HOME; `nvidia/nvshmem` in the folders of $TANDEM_SITE_PACKAGES, separated by colons; the
// system's folders. In each also `lib`.
std::optional<NvshmemInstall> findNvshmem(std::vector<std::string>& searched);

// "NVSHMEM was looked for in", then the folders, a line each.
std::string searchedForNvshmem(const std::vector<std::string>& searched);

}  // namespace tandem
