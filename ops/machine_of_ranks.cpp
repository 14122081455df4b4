// Rank 0 reads the profile and tells the others.
#include "ops/machine_of_ranks.h"
#include "compiler/driver/image_cache.h"
#include <fstream>
#include <sstream>

namespace tandem::ops {
namespace {

std::string keptProfile() {
  std::string cache = compiler::cacheFolder();
  if (cache.empty()) return "";
  std::ostringstream text;
  text << std::ifstream(cache + "/profile.json", std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace

Machine machineOfRank(const Team& team) {
  std::string gpu = team.deviceName();
  return gpu.empty() ? Machine() : machineOf(keptProfile(), gpu);
}

Machine machineOfRanks(Team& team) {
  return machineFromText(team.gather(team.rank() == 0 ? textOf(machineOfRank(team)) : "").front());
}

}  // namespace tandem::ops
