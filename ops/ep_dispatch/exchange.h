// Dispatch and combine share this on the host: how rows go in packets from tokens to their experts' ranks, and back.
#pragma once
#include "base/meaning.h"
#include "ops/kernel_text.h"
#include "ops/route/blocks.h"
#include "tandem/moe_config.h"
#include <map>
#include <memory>
#include <optional>

namespace tandem::ops {

// The sizes of both operators.
struct ExchangeSizes {
  int64_t maxM, columns, experts, topK;
};

const std::vector<Size>& exchangeSizes();
// Words of the route of the tokens that come to a rank, for its own experts.
extern const char* const kRouteHere;
// Rows by expert: of all slots that may come, and what is between them where each expert's begin at a multiple of `align`.
constexpr const char* kRowsByExpert = "ranks*max_m*top_k + align*shard(experts)";

// Rows of the route of what comes to a rank, at most.
constexpr const char* kRowsOfSlots = "ranks*max_m*top_k";
// The sizes of operators that multiply by a rank's own experts, and the operand as it is of those.
std::vector<Size> expertSizes();
Operand ofOwnExperts(Operand operand);

template <class Config>
std::vector<Option> exchangeOptions() {
  Option mode = option<Config>("mode", &Config::mode, "latency, of few tokens, or throughput, of many");
  mode.kind = Option::Kind::Word;
  mode.words = {"auto", "latency", "throughput"};
  return {
      mode,
      option<Config>("programs", &Config::programs, "at most"),
      option<Config>("num_warps", &Config::numWarps, "of a program, in `throughput` 2 or more", 1),
      option<Config>("pieces", &Config::pieces, "of 512 bytes, that a warp has in flight at once", 1, 8),
      option<Config>("placed_experts", &Config::placedExperts, "that ids name, where `placement` says their places"),
      option<Config>("copies", &Config::copies, "places of an expert in `placement`"),
      option<Config>("align", &Config::align, "rows of each expert begin at a multiple of it, the same in both", 1,
                     kMostAlign)};
}

// The table of places of a call that has one.
const Operand& placementOperand();
// Throws Error unless `placed_experts` and `copies` go together.
void checkPlacement(const std::string& name, const ExchangeConfig& config);

// Returns true if a call of such an operator has many tokens.
bool isThroughput(const ExchangeConfig& config, int64_t maxM);

// m, and which half of a call: both unless one is told.
const std::vector<Number>& exchangeNumbers();

// A rank, and which experts it has.
std::string ownerOf(const ExchangeSizes& sizes, int64_t ranks, int64_t rank);

// Which rank, token and experts a wait is for, by what is awaited: at an offset of the packets about rows, of which each
// token has `aboutToken`, and of the slots of rows, `rowSlots` each.
std::string aboutWords(const ExchangeSizes& sizes, int64_t ranks, int64_t aboutToken, uint64_t offset);
std::string rowWords(const ExchangeSizes& sizes, int64_t ranks, int64_t rowSlots, bool sums, uint64_t offset);

class Exchange {
 public:
  // `aboutToken`: packets that say more of each token; `dtype`: of the rows that travel, of fp8 with scales; `others`:
  // programs that move no rows where each warp sends and receives; `results`: of so many at most is a row that travels the
  // sum, 0 where rows travel as they are; `isDirect`: rows go to where they belong, and need no slots.
  Exchange(const Table& table, Team& team, Memory& memory, const ExchangeSizes& sizes, int64_t aboutToken, DType dtype,
           int others, int64_t results, bool isDirect, const ExchangeConfig& config);
  // `tensors`: the kernel's arguments before the slots; those whose rows travel come in `rows`. `numbers`: of the call.
  void launch(const Kernel& kernel, const std::vector<Tensor>& tensors, const std::vector<Tensor>& rows,
              const std::vector<int64_t>& numbers, int stream, const Constants& constants = {});
  // The most tokens that come to a rank, and its experts, or places for them.
  int64_t tokens() const;
  int64_t localExperts() const;
  int programs() const { return programs_; }
  int numWarps() const { return numWarps_; }
  int64_t pieces() const { return pieces_; }
  int64_t shares() const { return shares_; }
  // Whether one half of the warps sends while the other receives.
  bool isBeside() const { return isBeside_; }

 private:
  const Table& table_;
  Team& team_;
  ExchangeSizes sizes_;
  int64_t placed_, copies_;
  DType dtype_;
  int64_t pieces_, shares_;  // of a row
  bool isBeside_;
  // What was sent and is not received yet: how many tokens, and where the result goes.
  struct UnderWay {
    int64_t m;
    uint64_t out;
  };
  std::optional<UnderWay> underWay_;
  int programs_, numWarps_, others_;
  bool isDirect_;
  Tensor abouts_, slots_, epochs_;
  std::vector<std::unique_ptr<Meaning>> meanings_;  // of the slots, for reports of waits
};

}  // namespace tandem::ops
