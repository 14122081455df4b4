// Constants of the SHMEM libraries. Vendors number the same meaning differently; ours are NVSHMEM's numbers under every
// name.
#include "compiler/frontend/builtin/rows.h"
#include "tandem/compare.h"
#include <limits>

namespace tandem::frontend::builtin {

static void add(Constants& constants, const std::string& name, int64_t value) {
  constants.emplace_back("shmem." + name, Int(value));
}

static constexpr std::pair<const char*, int64_t> kComparisons[] = {
#define TANDEM_ROW(name, c_name, word, sign) {#c_name, TD_COMPARE_##c_name},
    TANDEM_COMPARISONS(TANDEM_ROW)
#undef TANDEM_ROW
};
static constexpr std::pair<const char*, int64_t> kAmo[] = {{"ACK", 1},
                                                           {"INC", 2},
                                                           {"SET", 3},
                                                           {"ADD", 4},
                                                           {"AND", 5},
                                                           {"OR", 6},
                                                           {"XOR", 7},
                                                           {"SIGNAL", 8},
                                                           {"SIGNAL_SET", 9},
                                                           {"SIGNAL_ADD", 10},
                                                           {"END_OF_NONFETCH", 11},
                                                           {"FETCH", 12},
                                                           {"FETCH_INC", 13},
                                                           {"FETCH_ADD", 14},
                                                           {"FETCH_AND", 15},
                                                           {"FETCH_OR", 16},
                                                           {"FETCH_XOR", 17},
                                                           {"SWAP", 18},
                                                           {"COMPARE_SWAP", 19}};
static constexpr std::pair<const char*, int64_t> kTeams[] = {{"NVSHMEM_TEAM_INVALID", -1},
                                                             {"NVSHMEM_TEAM_WORLD", 0},
                                                             {"NVSHMEM_TEAM_WORLD_INDEX", 0},
                                                             {"NVSHMEM_TEAM_SHARED", 1},
                                                             {"NVSHMEM_TEAM_SHARED_INDEX", 1},
                                                             {"NVSHMEMX_TEAM_NODE", 2},
                                                             {"NVSHMEM_TEAM_NODE_INDEX", 2},
                                                             {"NVSHMEMX_TEAM_SAME_MYPE_NODE", 3},
                                                             {"NVSHMEM_TEAM_SAME_MYPE_NODE_INDEX", 3},
                                                             {"NVSHMEMI_TEAM_SAME_GPU", 4},
                                                             {"NVSHMEM_TEAM_SAME_GPU_INDEX", 4},
                                                             {"NVSHMEMI_TEAM_GPU_LEADERS", 5},
                                                             {"NVSHMEM_TEAM_GPU_LEADERS_INDEX", 5},
                                                             {"NVSHMEM_TEAMS_MIN", 6}};

void addShmemConstants(Constants& constants) {
  constexpr int64_t sentinel = std::numeric_limits<int64_t>::max();
  for (const char* vendor : {"NVSHMEM", "ROCSHMEM", "MORI", "MXSHMEM"}) {
    std::string prefix = vendor;
    for (const auto& [name, value] : kComparisons) add(constants, prefix + "_CMP_" + name, value);
    add(constants, prefix + "_CMP_SENTINEL", sentinel);
    add(constants, prefix + "_SIGNAL_SET", 9);
    add(constants, prefix + "_SIGNAL_ADD", 10);
  }
  for (const char* prefix : {"NVSHMEMI_AMO_", "MORI_AMO_"}) {
    for (const auto& [name, value] : kAmo) add(constants, std::string(prefix) + name, value);
    add(constants, std::string(prefix) + "OP_SENTINEL", sentinel);
  }
  for (const auto& [name, value] : kTeams) add(constants, name, value);
  add(constants, "NVSHMEM_TEAM_INDEX_MAX", sentinel);
}

}  // namespace tandem::frontend::builtin
