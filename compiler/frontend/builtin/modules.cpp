// Import names: which of our modules each importable module name is, and the modules as attributes of one another.
#include "compiler/frontend/builtin/rows.h"
#include <map>

namespace tandem::frontend {

static const std::map<std::string_view, const char*>& importTable() {
  static const std::map<std::string_view, const char*> table = {
      {"triton", "triton"},
      {"tandem", "triton"},
      {"triton_dist", "triton_dist"},
      {"triton.language", "tl"},
      {"triton.language.core", "tl"},
      {"triton.language.standard", "tl"},
      {"triton.language.random", "tl"},
      {"triton.language.semantic", "tl"},
      {"tandem.language", "tl"},
      {"triton.language.math", "tl.math"},
      {"tandem.language.math", "tl.math"},
      {"triton.language.target_info", "tl.target_info"},
      {"tandem.language.target_info", "tl.target_info"},
      {"triton.language.extra", "tl.extra"},
      {"tandem.language.extra", "tl.extra"},
      {"triton.language.extra.cuda", "tl.extra.cuda"},
      {"triton.language.extra.cuda.utils", "tl.extra.cuda"},
      {"triton.language.extra.cuda.gdc", "tl.extra.cuda"},
      {"triton.language.extra.hip", "tl.extra.cuda"},
      {"tandem.language.extra.cuda", "tl.extra.cuda"},
      {"triton.language.extra.libdevice", "tl.extra.libdevice"},
      {"triton.language.extra.cuda.libdevice", "tl.extra.libdevice"},
      {"triton.language.extra.hip.libdevice", "tl.extra.libdevice"},
      {"tandem.language.extra.libdevice", "tl.extra.libdevice"},
      {"tandem.language.extra.cuda.libdevice", "tl.extra.libdevice"},
      {"tandem.libdevice", "tl.extra.libdevice"},
      {"triton_dist.language", "dl"},
      {"triton_dist.language.core", "dl"},
      {"triton_dist.language.distributed_ops", "dl"},
      {"triton_dist.language.simt_ops", "dl"},
      {"triton_dist.language.smem_ops", "dl"},
      {"triton.language.distributed", "dl"},
      {"tandem.dist", "dl"},
      {"triton_dist.language.tma", "dl.tma"},
      {"triton_dist.language.tma.pipeline", "dl.tma"},
      {"triton_dist.language.tma.tensormap", "dl.tma"},
      {"triton_dist.language.extra.cuda.tma_language", "dl.tma"},
      {"triton_dist.language.extra.tma_language", "dl.tma"},
      {"tandem.dist.tma", "dl.tma"},
      {"triton_dist.language.extra", "dl.extra"},
      {"triton_dist.language.extra.cuda", "dl.extra"},
      {"triton_dist.language.extra.hip", "dl.extra"},
      {"triton_dist.language.extra.maca", "dl.extra"},
      {"tandem.dist.extra", "dl.extra"},
      {"triton_dist.language.extra.libshmem_device", "shmem"},
      {"triton_dist.language.extra.cuda.libnvshmem_device", "shmem"},
      {"triton_dist.language.extra.hip.librocshmem_device", "shmem"},
      {"triton_dist.language.extra.hip.libmori_shmem_device", "shmem"},
      {"triton_dist.language.extra.maca.libmxshmem_device", "shmem"},
      {"triton.language.extra.libshmem_device", "shmem"},
      {"triton.language.extra.cuda.libnvshmem_device", "shmem"},
      {"tandem.shmem", "shmem"},
      {"triton_dist.language.extra.language_extra", "extra"},
      {"triton_dist.language.extra.cuda.language_extra", "extra"},
      {"triton_dist.language.extra.hip.language_extra", "extra"},
      {"triton_dist.language.extra.maca.language_extra", "extra"},
      {"triton.language.extra.cuda.language_extra", "extra"},
      {"triton.language.extra.hip.language_extra", "extra"},
      {"triton.language.extra.language_extra", "extra"},
      {"tandem.simt", "extra"},
  };
  return table;
}

std::optional<std::string> canonicalModule(std::string_view importedName) {
  auto found = importTable().find(importedName);
  if (found == importTable().end()) return std::nullopt;
  return found->second;
}

std::map<std::string, std::string> importNames() { return {importTable().begin(), importTable().end()}; }

namespace builtin {

static Value module(const char* canonical) {
  auto result = std::make_shared<Namespace>();
  result->name = canonical;
  result->ours = true;
  return result;
}

void addModuleConstants(Constants& constants) {
  static const std::pair<const char*, const char*> attributes[] = {{"triton.language", "tl"},
                                                                   {"triton.dist", "dl"},
                                                                   {"triton.shmem", "shmem"},
                                                                   {"triton.simt", "extra"},
                                                                   {"triton.libdevice", "tl.extra.libdevice"},
                                                                   {"triton_dist.language", "dl"},
                                                                   {"tl.core", "tl"},
                                                                   {"tl.standard", "tl"},
                                                                   {"tl.random", "tl"},
                                                                   {"tl.math", "tl.math"},
                                                                   {"tl.target_info", "tl.target_info"},
                                                                   {"tl.extra", "tl.extra"},
                                                                   {"tl.extra.cuda", "tl.extra.cuda"},
                                                                   {"tl.extra.hip", "tl.extra.cuda"},
                                                                   {"tl.extra.libdevice", "tl.extra.libdevice"},
                                                                   {"tl.extra.cuda.libdevice", "tl.extra.libdevice"},
                                                                   {"tl.extra.cuda.language_extra", "extra"},
                                                                   {"tl.extra.cuda.libnvshmem_device", "shmem"},
                                                                   {"tl.extra.libshmem_device", "shmem"},
                                                                   {"tl.extra.language_extra", "extra"},
                                                                   {"dl.core", "dl"},
                                                                   {"dl.distributed_ops", "dl"},
                                                                   {"dl.simt_ops", "dl"},
                                                                   {"dl.smem_ops", "dl"},
                                                                   {"dl.tma", "dl.tma"},
                                                                   {"dl.extra", "dl.extra"},
                                                                   {"dl.extra.cuda", "dl.extra"},
                                                                   {"dl.extra.hip", "dl.extra"},
                                                                   {"dl.extra.maca", "dl.extra"},
                                                                   {"dl.extra.libshmem_device", "shmem"},
                                                                   {"dl.extra.libnvshmem_device", "shmem"},
                                                                   {"dl.extra.librocshmem_device", "shmem"},
                                                                   {"dl.extra.libmori_shmem_device", "shmem"},
                                                                   {"dl.extra.libmxshmem_device", "shmem"},
                                                                   {"dl.extra.language_extra", "extra"},
                                                                   {"dl.extra.tma_language", "dl.tma"}};
  for (const auto& [name, canonical] : attributes) constants.emplace_back(name, module(canonical));
}

}  // namespace builtin
}  // namespace tandem::frontend
