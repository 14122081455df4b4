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

// Programs that sum and send, by items of so many columns. A warp has room for `ring` rows that come ahead of their sums,
// and for the addresses of `rows`. Without a ring rows come into registers.
struct Sums {
  int columns, warps, ring, rows, registers, programs;
};

constexpr int kRows = 8, kMostRows = 64, kSimulatedMost = 16;  // of an item, at least and at most
constexpr int kSimulatedColumns = 32;
constexpr int kRing = 12, kWarpRows = 72;  // which take 30 KB of four warps
constexpr int kBehindRing = 2;             // rows behind the ring's whose addresses are looked at, too
constexpr int64_t kSimulatedParts = 2;
// A thread that takes 32 bytes of a slot's rows in a turn has 64 bytes of two slots under way, beside 64 of sums: as many as its few
// registers hold. More slots go through a ring.
constexpr int64_t kFewSlots = 2;

// Parts of the columns, for a product of as many multiplications and additions, by rows of so many bytes. What hides grows with their
// number, and so does what the product reads again: four where that takes long (docs/performance/moe.md).
int64_t partsOf(double operations, int64_t rowBytes, int64_t topK) {
  constexpr double kLong = 5e11;
  constexpr int64_t kLongRow = 2048;
  return (topK > kFewSlots ? operations >= kLong : rowBytes >= kLongRow) ? 4 : 2;
}

// A warp takes 512 bytes of a row at once, 16 a lane. A program finds room beside one of the product, with few registers and as much shared
// memory as that leaves, and seven do where that has ended, or eight that have none.
Sums sums(const Team& team, int64_t topK, DType dtype) {
  constexpr int kWarpBytes = 512;
  int ofToken = int(topK) + team.size() - 1;  // rows that a token's sum has at most
  bool isFew = topK <= kFewSlots;
  if (team.target() == "sim") return {kSimulatedColumns, 2, isFew ? 0 : 3, kSimulatedMost / 2 * ofToken, 0, 4};
  int columns = kWarpBytes / int(byteSize(dtype)), programs = (isFew ? 8 : 7) * team.residentPrograms();
  return {columns, 4, isFew ? 0 : kRing, std::max(kWarpRows, ofToken), kRegistersBeside, programs};
}

// Of the last part, items for each program: the own ones among them begin when others have been sent.
constexpr int64_t kItemsEach = 8;

// The most rows of an item: a warp takes a share of them, and has room for the addresses of what each is summed of.
int64_t rowsOfItem(const Team& team, const Sums& s, int64_t topK) {
  int64_t most = s.rows / (topK + team.size() - 1) * s.warps;
  return std::min<int64_t>(std::max<int64_t>(most, s.warps), team.target() == "sim" ? kSimulatedMost : kMostRows);
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
    : team_(team), n_(n), experts_(experts), topK_(topK), rowElements_(k), givenParts_(parts), findings_(findings),
      product_(table, team, nullptr, maxM, n, k, experts, topK, dtype, config, GroupedWay{.packed = true, .own = own},
               findings) {
  Sums s = sums(team, topK, partType(dtype));
  int64_t shard = shardRows(maxM, team.size()), peers = team.size() - 1;
  int64_t columns =
      columnsAtOnce(maxM * topK, GroupedProduct::resultColumns(n), byteSize(partType(dtype)), slotColumns);
  columns_ = columns;
  int64_t places = cdiv(shard, std::min<int64_t>(kRows, rowsOfItem(team, s, topK))) * cdiv(columns, s.columns);
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
  int64_t parts = givenParts_;
  // The product of few rows ends before its first part is summed.
  bool simulated = team_.target() == "sim", isLong = simulated || product_.tileRows(m) >= kRowsOfParts;
  if (!parts)
    parts = !isLong     ? 1
            : simulated ? kSimulatedParts
                        : partsOf(2.0 * m * topK_ * rowElements_ * n_, rowElements_ * byteSize(h.dtype), topK_);
  Sums s = sums(team_, topK_, rows_.dtype);
  int64_t unit = std::max<int64_t>(tile, s.columns);  // both are powers of two
  for (int64_t first = 0; first < n_; first += columns_) {
    int64_t count = std::min(columns_, n_ - first), part = cdiv(cdiv(count, unit), parts) * unit;
    int64_t each = std::max<int64_t>(m * cdiv(part, s.columns) / (kItemsEach * s.programs), 1);
    int64_t most = rowsOfItem(team_, s, topK_);
    int64_t last = std::min(std::max<int64_t>(int64_t(std::bit_ceil(uint64_t(each))), kRows), most);
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
                  shardRows(m, team_.size()), part, most, last},
                 {{"E", experts_},
                  {"TOP_K", topK_},
                  {"RANKS", int64_t(team_.size())},
                  {"COLUMNS", int64_t(s.columns)},
                  {"TILE_M", product_.tileRows(m)},
                  {"TILE_N", tile},
                  {"RING", int64_t(s.ring)},
                  {"TABLE", int64_t(s.rows + s.ring + kBehindRing)}});
  }
}

}  // namespace tandem::ops
