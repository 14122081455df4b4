// The product, and behind it programs that sum and send.
#include "ops/moe_rs/summed_product.h"
#include "ops/cdiv.h"
#include "ops/findings.h"
#include "ops/gemm_choice.h"
#include "ops/kernel_text.h"
#include <algorithm>
#include <bit>

namespace tandem::ops {
namespace {

// Programs that sum and send. A turn of their loops takes `rows` tokens in so many columns, while those of the next `stages` - 1
// are copied. The columns are divided into so many parts, which travel one by one.
struct Sums {
  int rows, columns, warps, stages, registers, programs;
  int64_t ring = 0;  // rows that a warp has room for in shared memory, instead of stages
};

constexpr int kRows = 8, kSimulatedRows = 8;  // of an item, at least
constexpr int kColumns = 256, kSimulatedColumns = 32;
constexpr int64_t kBytesBeside = 24 << 10;  // of shared memory
constexpr int64_t kFewSlots = 2, kSimulatedParts = 2;

int columnsOfItem(const Team& team) { return team.target() == "sim" ? kSimulatedColumns : kColumns; }

// Rows that a warp has room for beside the product, where a token has up to topK; 0 if these do not fit.
int64_t ringRows(const Team& team, int64_t topK, DType dtype) {
  if (team.target() == "sim") return topK + 1;
  int64_t rows = kBytesBeside / (4 * kColumns * byteSize(dtype));
  return rows >= topK ? rows : 0;
}

// Parts of the columns. What hides is a share of the product's time, which grows with the bytes of a row that is multiplied, while
// that of the sums does not: short products are left sooner than their first part is summed (docs/performance/moe.md).
int64_t partsOf(int64_t rowBytes, int64_t topK, bool hasRing) {
  constexpr int64_t kShort = 1408, kLong = 6144, kLongOfFew = 2048;
  if (topK <= kFewSlots) return rowBytes >= kLongOfFew ? 4 : 2;
  return !hasRing || rowBytes < kShort ? 1 : rowBytes < kLong ? 2 : 4;
}

// Beside the product a thread has few registers, so rows come into shared memory. A program has room beside one of the product, and
// eight where that has ended.
Sums sums(const Team& team, int64_t topK, int64_t ring) {
  int columns = columnsOfItem(team);
  if (team.target() == "sim") return {kSimulatedRows, columns, 2, 3, 0, 4, ring};
  int resident = team.residentPrograms();
  if (ring) return {kRows, columns, 4, 2, kRegistersBeside, 8 * resident, ring};
  if (topK <= kFewSlots) return {kRows, columns, 4, 2, kRegistersBeside, 8 * resident};
  if (topK <= 4) return {4, columns, 4, 3, 0, 5 * resident};
  return {2, columns, 4, 2, 64, 8 * resident};
}

constexpr int64_t kMostRows = 64;  // of an item
// Of the last part, items for each program: the own ones among them begin when others have been sent.
constexpr int64_t kItemsEach = 8;
constexpr int64_t kSlotsOfItem = 128;  // beside the product: what has begun when that ends is not to be waited for long

// Rows of an item beside the product, where the last part's have so many.
int64_t rowsBeside(const Team& team, int64_t topK, int64_t last) {
  if (team.target() == "sim") return std::min(2 * last, kMostRows);
  return std::clamp(int64_t(std::bit_floor(uint64_t(kSlotsOfItem / topK))), last, kMostRows);
}

constexpr int kRowsOfParts = 128;
constexpr int64_t kSlotBytes = 1 << 30;  // at most, where kSlotColumns fit

// The columns of which all slots' results are kept at once.
int64_t columnsAtOnce(int64_t slots, int64_t columns, int64_t bytes, int given) {
  int64_t most = given ? given : kSlotBytes / (slots * bytes);
  return std::min(columns, std::max(most / kSlotColumns * kSlotColumns, kSlotColumns));
}

}  // namespace

SummedProduct::SummedProduct(const Table& table, Team& team, Memory& memory, int64_t maxM, int64_t n, int64_t k,
                             int64_t experts, int64_t topK, DType dtype, const GroupedConfig& config, int parts,
                             int slotColumns, const Tensor& findings, bool own)
    : team_(team), n_(n), experts_(experts), topK_(topK), rowBytes_(k * byteSize(dtype)), givenParts_(parts),
      findings_(findings), product_(table, team, nullptr, maxM, n, k, experts, topK, dtype, config,
                                    GroupedWay{.packed = true, .own = own}, findings) {
  Sums s = sums(team, topK, 0);
  int64_t shard = shardRows(maxM, team.size()), peers = team.size() - 1;
  int64_t columns =
      columnsAtOnce(maxM * topK, GroupedProduct::resultColumns(n), byteSize(partType(dtype)), slotColumns);
  columns_ = columns;
  int64_t places = cdiv(shard, s.rows) * cdiv(columns, s.columns);
  memory.share(config.shared);
  rows_ = memory.localScratch({maxM * topK, columns}, partType(dtype), "rows");
  parts_ = memory.symmetricScratch({std::max<int64_t>(peers * shard, 1), columns}, partType(dtype), "parts");
  ready_ = memory.symmetricZeros({std::max<int64_t>(peers * places, 1)}, DType::Int64, "ready");
  brought_ = memory.symmetricZeros({kMostParts}, DType::Int64, "brought");
  begun_ = memory.symmetricZeros({team.size()}, DType::Int64, "begun");
  taken_ = memory.localZeros({1}, DType::Int32, "taken");
  done_ = memory.localZeros({1}, DType::Int32, "done");
  epoch_ = memory.localZeros({1}, DType::Int64, "epoch");
  uint64_t ranks = uint64_t(team.size()), rank = uint64_t(team.rank());
  auto say = [&](const Tensor& signals, std::function<std::string(uint64_t)> words) {
    meanings_.push_back(std::make_unique<Meaning>(signals.address, signals.bytes(), table.name, onTeam(team, words)));
  };
  auto ofRank = [own, experts](uint64_t r) {
    std::string first = std::to_string(int64_t(r) * experts);
    return "rank " + std::to_string(r) + (own ? ", which has the experts from " + first + " on" : "");
  };
  say(begun_,
      [=](uint64_t offset) { return "the beginning of the call on " + ofRank(offset / sizeof(int64_t) % ranks); });
  if (!peers) return;
  say(ready_, [=](uint64_t offset) {
    uint64_t source = offset / sizeof(int64_t) % (ranks - 1);
    return "sums from " + ofRank(source + (source >= rank));
  });
}

void SummedProduct::launch(const Tensor& h, const Tensor& w, const Tensor& route, const Tensor& out, int64_t m,
                           int stream, const GroupedProduct::More& more) const {
  int64_t tile = product_.tileColumns(m);
  int64_t parts = givenParts_, ring = ringRows(team_, topK_, rows_.dtype);
  // The product of few rows ends before its first part is summed.
  bool simulated = team_.target() == "sim", isLong = simulated || product_.tileRows(m) >= kRowsOfParts;
  if (!parts) parts = !isLong ? 1 : simulated ? kSimulatedParts : partsOf(rowBytes_, topK_, ring > 0);
  // A few rows of a token come into registers as soon.
  bool brings = parts > 1 && (simulated || topK_ > kFewSlots);
  Sums s = sums(team_, topK_, brings ? ring : 0);
  int64_t unit = std::max<int64_t>(tile, s.columns);  // both are powers of two
  for (int64_t first = 0; first < n_; first += columns_) {
    int64_t count = std::min(columns_, n_ - first), part = cdiv(cdiv(count, unit), parts) * unit;
    int64_t each = std::max<int64_t>(m * cdiv(part, s.columns) / (kItemsEach * s.programs), 1);
    int64_t rows = std::clamp<int64_t>(int64_t(std::bit_ceil(uint64_t(each))), kRows, kMostRows);
    GroupedProduct::Counted counted{brought_, part};
    product_.launch(h, w, rows_, route, m, stream, more, nullptr, {first, count}, &counted);
    team_.launch(kernelOf("ops/moe_rs/moe_rs.py", "combine"),
                 {.grid = {s.programs, 1, 1},
                  .numWarps = s.warps,
                  .stream = stream,
                  .maxRegisters = s.registers,
                  .dependent = true},
                 {rows_, route, Tensor{out.address + uint64_t(first * byteSize(out.dtype)), out.shape, out.dtype},
                  parts_, brought_, ready_, begun_, taken_, done_, epoch_, findings_, m, out.shape[0], count, n_,
                  shardRows(m, team_.size()), part, rowsBeside(team_, topK_, rows), rows},
                 {{"E", experts_},
                  {"TOP_K", topK_},
                  {"RANKS", int64_t(team_.size())},
                  {"ROWS", int64_t(s.rows)},
                  {"COLUMNS", int64_t(s.columns)},
                  {"TILE_M", product_.tileRows(m)},
                  {"TILE_N", tile},
                  {"STAGES", int64_t(s.stages)},
                  {"RING", s.ring}});
  }
}

}  // namespace tandem::ops
