// A route and the operators that take one agree on these.
#pragma once
#include "ops/table.h"
#include "tandem/moe_config.h"

namespace tandem::ops {

constexpr int64_t kMostExperts = 1024, kMostTopK = 16, kMostAlign = 4096;
// A route of m tokens, in 32-bit words (ops/device/routes.py).
constexpr const char* kRouteWords = "64 + 18*experts + 4*m*top_k";

// The rows of a block: `given`, else by the rows of an expert on average.
int blockRows(int64_t slots, int64_t experts, const DealConfig& given, const std::string& target);
// Throws Error unless so many experts, of so many ranks that each have some, can be chosen among.
void checkExperts(const Table& table, int64_t experts, int64_t topK, int ranks = 1);

template <class Config>
std::vector<Option> dealOptions() {
  Option rows = option<Config>("block_m", &DealConfig::blockM, "rows of a block, the same in what takes the route");
  rows.kind = Option::Kind::Tile;
  return {rows, option<Config>("programs", &DealConfig::programs, "at most")};
}

}  // namespace tandem::ops
