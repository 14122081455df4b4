// Dispatch and combine share this on the host: how rows go in packets from tokens to their experts' ranks, and back.
#pragma once
#include "ops/kernel_text.h"
#include "ops/table.h"
#include "tandem/moe_config.h"
#include <map>

namespace tandem::ops {

// The sizes of both operators.
struct ExchangeSizes {
  int64_t maxM, columns, experts, topK;
};

const std::vector<Size>& exchangeSizes();
// Words of the route of the tokens that come to a rank, for its own experts.
extern const char* const kRouteHere;

template <class Config>
std::vector<Option> exchangeOptions() {
  return {option<Config>("programs", &Config::programs, "at most"),
          option<Config>("num_warps", &Config::numWarps, "of a program"),
          option<Config>("pieces", &Config::pieces, "of 512 bytes, that a warp has in flight at once", 0, 8)};
}

class Exchange {
 public:
  // `aboutToken`: packets that say more of each token; `dtype`: of the rows that travel, of fp8 with scales; `others`:
  // programs that move no rows.
  Exchange(const Table& table, Team& team, Memory& memory, const ExchangeSizes& sizes, int64_t aboutToken, DType dtype,
           int others, const ExchangeConfig& config);
  // `tensors`: the kernel's arguments before the slots; those whose rows travel come in `rows`.
  void launch(const Kernel& kernel, const std::vector<Tensor>& tensors, const std::vector<Tensor>& rows, int64_t m,
              int stream, const std::map<std::string, Constant>& constants = {});
  // The most tokens that come to a rank, and its experts.
  int64_t tokens() const;
  int64_t localExperts() const;
  int numWarps() const { return numWarps_; }

 private:
  Team& team_;
  ExchangeSizes sizes_;
  DType dtype_;
  int64_t pieces_, shares_;  // of a row
  int programs_, numWarps_;
  Tensor abouts_, slots_, epochs_;
};

}  // namespace tandem::ops
