// The table of targets (CUDA programming guide, "compute capabilities").
#include "compiler/target/target_info.h"
#include "base/diagnostic.h"

namespace tandem::target {

const std::vector<TargetInfo>& TargetInfo::table() {
  static const std::vector<TargetInfo> targets = withAdditions({
      {"sm_80", 163 * 1024, 2048, 32, false, false},
      {"sm_89", 99 * 1024, 1536, 24, true, false},
      {"sm_90a", 227 * 1024, 2048, 32, true, true},
  });
  return targets;
}

std::vector<TargetInfo> TargetInfo::withAdditions(std::vector<TargetInfo> architectures) {
  std::vector<TargetInfo> out;
  for (const char* added : {"", "+nvshmem", "+trace", "+trace+nvshmem"})
    for (const TargetInfo& architecture : architectures) {
      out.push_back(architecture);
      out.back().name_ += added;
    }
  return out;
}

std::vector<std::string> TargetInfo::knownNames() {
  std::vector<std::string> names;
  for (const TargetInfo& t : table())
    if (t.name() == t.architecture()) names.push_back(t.name());
  return names;
}

const TargetInfo& TargetInfo::named(std::string_view name) {
  for (const TargetInfo& t : table())
    if (t.name() == name) return t;
  std::string list;
  for (const std::string& known : knownNames()) list += (list.empty() ? "`" : ", `") + known + "`";
  std::string message = "target `" + std::string(name) + "` is unknown; known are " + list;
  throw CompileError({Severity::Error, "unknown-target", std::move(message), nullptr, {}, {}});
}

}  // namespace tandem::target
