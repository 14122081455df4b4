// The table of targets (CUDA programming guide, "compute capabilities").
#include "compiler/target/target_info.h"
#include "base/diagnostic.h"

namespace tandem::target {
namespace {

constexpr Gpu kGpus[] = {
    {.name = "sm_80",
     .features = "+ptx86",
     .mostMultiprocessors = 108,
     .maxSharedBytes = 163 * 1024,
     .ldmatrix = true,
     .slowShuffleAssembly = true},
    {.name = "sm_89",
     .features = "+ptx86",
     .threadsPerMultiprocessor = 1536,
     .blocksPerMultiprocessor = 24,
     .mostMultiprocessors = 142,
     .maxSharedBytes = 99 * 1024,
     .ldmatrix = true,
     .fp8Mma = true,
     .fp8Convert = true,
     .slowShuffleAssembly = true},
    {.name = "sm_90a",
     .features = "+ptx86",
     .mostMultiprocessors = 132,
     .maxSharedBytes = 227 * 1024,
     .maxClusterSize = 8,
     .wgmma = true,
     .tma = true,
     .ldmatrix = true,
     .stmatrix = true,
     .setMaxRegister = true,
     .mbarrierTryWait = true,
     .multimem = true,
     .bf16Atomics = true,
     .fp8Mma = true,
     .emulatesFp8Mma = true,
     .f64Mma = true,
     .fp8Convert = true,
     .vectorAtomics = true},
};

}  // namespace

const std::vector<TargetInfo>& TargetInfo::table() {
  static const std::vector<TargetInfo> targets = [] {
    std::vector<TargetInfo> out;
    for (const char* added : {"", "+nvshmem", "+trace", "+trace+nvshmem"})
      for (const Gpu& gpu : kGpus) {
        out.emplace_back(gpu);
        out.back().name_ += added;
      }
    return out;
  }();
  return targets;
}

std::vector<std::string> TargetInfo::knownNames() {
  std::vector<std::string> names;
  for (const Gpu& gpu : kGpus) names.push_back(gpu.name);
  return names;
}

const TargetInfo* TargetInfo::find(std::string_view name) {
  for (const TargetInfo& t : table())
    if (t.name() == name) return &t;
  return nullptr;
}

const TargetInfo& TargetInfo::named(std::string_view name) {
  if (const TargetInfo* known = find(name)) return *known;
  std::string list;
  for (const std::string& known : knownNames()) list += (list.empty() ? "`" : ", `") + known + "`";
  std::string message = "target `" + std::string(name) + "` is unknown; known are " + list;
  throw CompileError({Severity::Error, "unknown-target", std::move(message), nullptr, {}, {}});
}

}  // namespace tandem::target
