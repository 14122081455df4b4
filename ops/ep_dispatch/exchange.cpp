// Slots and launches of dispatch and combine. The number of programs follows from the operator's sizes alone: each counts
// its own calls, and ranks have unequal numbers of tokens.
#include "ops/ep_dispatch/exchange.h"
#include "ops/findings.h"
#include "ops/cdiv.h"
#include "ops/packets/packets.h"
#include "ops/route/blocks.h"
#include <algorithm>

namespace tandem::ops {
namespace {

constexpr int64_t kMostFew = 512;  // tokens of a rank
constexpr int kGpuWarps = 16, kMostWarps = 32, kSimulatedPrograms = 2, kSimulatedWarps = 2;
constexpr int64_t kPieces = 2, kManyPieces = 4, kLanes = 32;

struct Tile {
  int warps;
  int64_t pieces;
};

// Two pieces where each warp has one share or less. Of more rows four, or twice the warps where a row that travels is the sum of
// several: they have several rows of each piece under way. Beside others that receive, these come into shared memory, which
// warps share. Quantising four pieces takes the registers of 32 warps, and adding those that came more than these have.
Tile tileFor(int64_t pieces, int64_t programs, bool isBeside, int64_t results, bool quantises) {
  double shares = double(pieces) / double(kPieces * programs * kGpuWarps);
  if (results > 1 && isBeside) return {kGpuWarps, kPieces};
  if (results > 1) return shares > 2 ? Tile{kMostWarps, 1} : Tile{kGpuWarps, kPieces};
  int warps = isBeside && !results ? kMostWarps : kGpuWarps;
  return {warps, shares > 1 && !quantises ? kManyPieces : kPieces};
}

std::string expertsOf(const ExchangeSizes& sizes, int64_t ranks, int64_t rank) {
  int64_t each = cdiv(sizes.experts, ranks);
  return std::to_string(rank * each) + " to " + std::to_string(std::min(rank * each + each, sizes.experts) - 1);
}

}  // namespace

const char* const kRouteHere = "64 + 18*shard(experts) + 4*ranks*max_m*top_k";

const std::vector<Size>& exchangeSizes() {
  static const std::vector<Size> sizes = {
      {"max_m", "the most tokens of a rank"},
      {"columns", "of a row"},
      {"experts", "of all ranks; rank r has those from r * cdiv(experts, ranks). With `placement` places for them"},
      {"top_k", "experts of a token"}};
  return sizes;
}

const Operand& placementOperand() {
  static const Operand placement = {
      .name = "placement", .shape = {"placed_experts", "copies"}, .always = DType::Int32, .givenBy = "placed_experts"};
  return placement;
}

std::vector<Size> expertSizes() {
  return {{"max_m", "the most tokens of a rank"},
          {"n", "columns of the result"},
          {"k", "columns of the rows that are multiplied"},
          exchangeSizes()[2],
          exchangeSizes()[3]};
}

Operand ofOwnExperts(Operand operand) {
  operand.shape[0] = "shard(experts)";
  return operand;
}

void checkPlacement(const std::string& name, const ExchangeConfig& config) {
  if (!config.placedExperts != !config.copies)
    throw Error("`" + name + "`: `placed_experts` and `copies`, which say the shape of `placement`, go together");
}

bool isThroughput(const ExchangeConfig& config, int64_t maxM) {
  return config.mode == ExchangeMode::Auto ? maxM > kMostFew : config.mode == ExchangeMode::Throughput;
}

const std::vector<Number>& exchangeNumbers() {
  static const std::vector<Number> numbers = {
      {"m", Number::Kind::OwnRows, "this rank's tokens"},
      {"send_only", Number::Kind::Flag, "a call with the same tensors and `receive_only` follows"},
      {"receive_only", Number::Kind::Flag, "the other half of a call with `send_only`"}};
  return numbers;
}

std::string ownerOf(const ExchangeSizes& sizes, int64_t ranks, int64_t rank) {
  return "rank " + std::to_string(rank) + ", which has experts " + expertsOf(sizes, ranks, rank);
}

std::string aboutWords(const ExchangeSizes& sizes, int64_t ranks, int64_t aboutToken, uint64_t offset) {
  int64_t packet = int64_t(offset) / kPacketBytes, ofSource = 1 + sizes.maxM * aboutToken;
  int64_t source = packet / ofSource % ranks, slot = packet % ofSource - 1;
  if (slot < 0) return "the header of " + ownerOf(sizes, ranks, source);
  return "what rank " + std::to_string(source) + " says of its token " + std::to_string(slot / aboutToken) + ", slot " +
         std::to_string(slot % aboutToken);
}

std::string rowWords(const ExchangeSizes& sizes, int64_t ranks, int64_t rowSlots, bool sums, uint64_t offset) {
  int64_t row = int64_t(offset) / (rowSlots * kPacketBytes), source = row / sizes.maxM % ranks;
  std::string token = "token " + std::to_string(row % sizes.maxM), rank = "rank " + std::to_string(source);
  if (!sums) return "the row of " + token + " of " + rank;
  return "the sum for " + token + " from " + rank + ", of experts " + expertsOf(sizes, ranks, source);
}

Exchange::Exchange(const Table& table, Team& team, Memory& memory, const ExchangeSizes& sizes, int64_t aboutToken,
                   DType dtype, int others, int64_t results, bool isDirect, const ExchangeConfig& config)
    : table_(table), team_(team), sizes_(sizes), placed_(config.placedExperts), copies_(config.copies), dtype_(dtype),
      others_(others), isDirect_(isDirect) {
  checkExperts(table, sizes.experts, sizes.topK, team.size());
  bool simulated = team.target() == "sim";
  int64_t packets = cdiv(sizes.columns, elementsOfPacket(dtype));
  int64_t ofRow = cdiv(packets, kLanes), scaleSlots = dtype == DType::Float8E4NV ? 1 : 0;
  isBeside_ = isThroughput(config, sizes.maxM);
  if (isBeside_) others_ = 0;
  if (int room = team.residentPrograms(); others_ >= room)
    throw Error("`" + table.name + "`: mode latency needs " + std::to_string(others_ + 1) +
                " programs at once, a rank has room for " + std::to_string(room));
  int64_t most = config.programs ? config.programs : simulated ? kSimulatedPrograms : team.residentPrograms();
  most = std::max<int64_t>(std::min<int64_t>(most, team.residentPrograms() - others_), 1);
  Tile tile =
      simulated ? Tile{kSimulatedWarps, kPieces} : tileFor(sizes.maxM * ofRow, most, isBeside_, results, scaleSlots);
  numWarps_ = config.numWarps ? config.numWarps : tile.warps;
  if (isBeside_ && numWarps_ < 2)
    throw Error("`" + table.name + "`: `num_warps` is 1, in mode throughput at least 2 are needed");
  pieces_ = config.pieces ? config.pieces : tile.pieces;
  while (!config.pieces && ofRow % pieces_) --pieces_;  // what is padded travels
  pieces_ = std::min(pieces_, ofRow);
  shares_ = cdiv(ofRow, pieces_);
  programs_ = int(std::min<int64_t>(most, cdiv(tokens() * shares_, numWarps_))) + others_;
  abouts_ = memory.symmetricZeros({2, team.size(), 1 + sizes.maxM * aboutToken, 2}, DType::Int64, "about rows");
  int64_t rowSlots = shares_ * pieces_ * (kLanes + scaleSlots);
  slots_ = isDirect ? abouts_
                    : markedSlots(team, memory, {isBeside_ ? 1 : 2, team.size(), sizes.maxM * rowSlots, 2}, "rows");
  epochs_ = memory.localZeros({programs_}, DType::Int64, "calls");
  auto say = [&](const Tensor& memory, auto words) {
    meanings_.push_back(std::make_unique<Meaning>(memory.address, memory.bytes(), table.name, onTeam(team, words)));
  };
  int64_t ranks = team.size();
  say(abouts_, [=](uint64_t offset) { return aboutWords(sizes, ranks, aboutToken, offset); });
  if (!isDirect) say(slots_, [=](uint64_t offset) { return rowWords(sizes, ranks, rowSlots, results, offset); });
}

int64_t Exchange::tokens() const { return team_.size() * sizes_.maxM; }

int64_t Exchange::localExperts() const { return cdiv(sizes_.experts, team_.size()); }

void Exchange::launch(const Kernel& kernel, const std::vector<Tensor>& tensors, const std::vector<Tensor>& rows,
                      const std::vector<int64_t>& numbers, int stream, const Constants& constants) {
  bool sendOnly = numbers[1] != 0, receiveOnly = numbers[2] != 0;
  std::string name = "`" + table_.name + "`: ";
  if (sendOnly && receiveOnly) throw Error(name + "`send_only` and `receive_only` exclude each other");
  if (receiveOnly && !underWay_) throw Error(name + "`receive_only` follows a call with `send_only`");
  if (!receiveOnly && underWay_) throw Error(name + "the last call's rows are still to be received: `receive_only`");
  if (receiveOnly && underWay_->m != numbers[0])
    throw Error(name + "`m` is " + std::to_string(numbers[0]) + ", the call with `send_only` had " +
                std::to_string(underWay_->m));
  if (receiveOnly && underWay_->out != rows.back().address)
    throw Error(name + "`out` is another tensor than that of the call with `send_only`");
  underWay_.reset();
  if (sendOnly) underWay_ = {numbers[0], rows.back().address};
  int64_t elements = elementsOfPacket(dtype_);
  bool isAligned = sizes_.columns % elements == 0;
  for (const Tensor& t : rows) isAligned &= t.address % kPacketBytes == 0;
  std::vector<Argument> arguments(tensors.begin(), tensors.end());
  arguments.insert(arguments.end(), {abouts_, slots_, epochs_});
  for (int64_t size : {numbers[0], sizes_.maxM, sizes_.columns, sizes_.experts, placed_, localExperts(), shares_})
    arguments.emplace_back(size);
  Constants all = constants;
  all.insert({{"TOP_K", sizes_.topK},
              {"COPIES", copies_},
              {"RANKS", int64_t(team_.size())},
              {"ELEMENTS", elements},
              {"PIECES", pieces_},
              {"ALIGNED", isAligned},
              {"POLLS", pollsOn(team_)},
              {"SEND", !receiveOnly},
              {"RECEIVE", !sendOnly},
              {"BESIDE", isBeside_ && !isDirect_}});
  team_.launch(kernel, {.grid = {programs_, 1, 1}, .numWarps = numWarps_, .stream = stream}, arguments, all);
}

}  // namespace tandem::ops
