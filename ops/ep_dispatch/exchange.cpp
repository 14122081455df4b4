// Slots and launches of dispatch and combine. The number of programs follows from the operator's sizes alone: each counts
// its own calls, and ranks have unequal numbers of tokens.
#include "ops/ep_dispatch/exchange.h"
#include "ops/cdiv.h"
#include "ops/packets/packets.h"
#include "ops/route/blocks.h"
#include <algorithm>

namespace tandem::ops {
namespace {

constexpr int kGpuWarps = 8, kSimulatedPrograms = 2, kSimulatedWarps = 2;
constexpr int64_t kPieces = 4, kSimulatedPieces = 2;  // packets that a thread has in flight

}  // namespace

const char* const kRouteHere = "64 + 10*shard(experts) + 4*ranks*max_m*top_k";

const std::vector<Size>& exchangeSizes() {
  static const std::vector<Size> sizes = {{"max_m", "the most tokens of a rank"},
                                          {"columns", "of a row"},
                                          {"experts", "of all ranks; rank r has those from r * cdiv(experts, ranks)"},
                                          {"top_k", "experts of a token"}};
  return sizes;
}

Exchange::Exchange(const Table& table, Team& team, Memory& memory, const ExchangeSizes& sizes, int64_t aboutToken,
                   DType dtype, const ExchangeConfig& config)
    : team_(team), sizes_(sizes), dtype_(dtype) {
  checkExperts(table, sizes.experts, sizes.topK);
  bool simulated = team.target() == "sim";
  rowPackets_ = cdiv(sizes.columns, elementsOfFlaggedPacket(dtype));
  sourcePackets_ = 1 + sizes.maxM * (aboutToken + rowPackets_);
  numWarps_ = config.numWarps ? config.numWarps : simulated ? kSimulatedWarps : kGpuWarps;
  int64_t shares = tokens() * cdiv(rowPackets_, 32 * (simulated ? kSimulatedPieces : kPieces));
  int64_t most = config.programs ? config.programs : simulated ? kSimulatedPrograms : team.residentPrograms();
  programs_ = int(std::min<int64_t>({most, team.residentPrograms(), cdiv(shares, numWarps_)}));
  slots_ = memory.symmetricZeros({2, team.size(), sourcePackets_, 2}, DType::Int64, "packets");
  epochs_ = memory.localZeros({programs_}, DType::Int64, "calls");
}

int64_t Exchange::tokens() const { return team_.size() * sizes_.maxM; }

int64_t Exchange::localExperts() const { return cdiv(sizes_.experts, team_.size()); }

void Exchange::launch(const Kernel& kernel, const std::vector<Tensor>& tensors, const std::vector<Tensor>& rows,
                      int64_t m, int stream) {
  int64_t elements = elementsOfFlaggedPacket(dtype_), bytes = elements * byteSize(dtype_);
  bool isAligned = sizes_.columns % elements == 0;
  for (const Tensor& t : rows) isAligned &= t.address % uint64_t(bytes) == 0;
  std::vector<Argument> arguments(tensors.begin(), tensors.end());
  arguments.insert(arguments.end(), {slots_, epochs_});
  for (int64_t size : {m, sizes_.maxM, sizes_.columns, sizes_.experts, localExperts(), rowPackets_, 2 * sourcePackets_})
    arguments.emplace_back(size);
  team_.launch(kernel, {.grid = {programs_, 1, 1}, .numWarps = numWarps_, .stream = stream}, arguments,
               {{"TOP_K", sizes_.topK},
                {"RANKS", int64_t(team_.size())},
                {"ELEMENTS", elements},
                {"PIECES", team_.target() == "sim" ? kSimulatedPieces : kPieces},
                {"ALIGNED", isAligned},
                {"POLLS", pollsOn(team_)},
                {"SEND", true},
                {"RECEIVE", true}});
}

}  // namespace tandem::ops
