#include "ops/gemm_ar/few_rows.h"
#include "ops/gemm_ar/model.h"
#include "ops/gemm_tiles.h"
#include "ops/kernel_text.h"
#include "ops/packets/packets.h"
#include <algorithm>
#include <bit>

namespace tandem::ops {
namespace {

constexpr int64_t kGroup = 8;  // row blocks of a group, where they are more than kMostTogether
// Elements of rows that a program sends at once, and in how many chunks they are dealt where they are few.
constexpr int64_t kLeastChunk = 1024, kMostChunk = 8192, kChunks = 128;

const char* nameOf(GemmKind kind) {
  return kind == GemmKind::Reduce ? "reduce" : kind == GemmKind::Scatter ? "scatter" : "gather";
}

}  // namespace

FewRows::FewRows(Team& team, Memory& memory, Kind kind, const GemmChooser& chooser, int64_t maxM, int64_t n, int64_t k,
                 DType dtype, const GemmConfig& given)
    : team_(team), kind_(kind), n_(n), k_(k), dtype_(dtype),
      oneShotBytes_(given.oneShotBytes < 0 ? mostOneShotBytes(team.size(), chooser.machine()) : given.oneShotBytes),
      packetsBytes_(given.packetsBytes < 0 ? mostPacketsBytes(team.size(), chooser.machine()) : given.packetsBytes) {
  DType part = partType(dtype);
  int64_t ranks = team.size(), bytes = n * byteSize(part), programs = team.residentPrograms();
  int64_t tiles = 1, splits = 1, packetRows = 0;
  bool sums = ranks > 1 && kind != Kind::Gather;
  for (bool blocks : {false, true}) {
    GemmPlace place{team.target(), team.residentPrograms(), blocks};
    for (const auto& [c, most] : tilesOfFewRows(given, {maxM, n, k, team.size(), dtype}, place)) {
      int64_t count = cdiv(most, c.blockM) * cdiv(n, c.blockN), tile = int64_t(c.blockM) * c.blockN;
      splits = std::max(splits, c.programs * tile);
      if (!sums || kind == Kind::Scatter || most * bytes <= packetsBytes_) continue;
      tiles = std::max(tiles, count);
      setElements_ = std::max(setElements_, count * tile);
    }
  }
  if (sums && kind == Kind::Scatter) packetRows = shardRows(maxM, team.size());
  if (sums && kind == Kind::Reduce) packetRows = std::min(maxM, packetsBytes_ / bytes);
  setPackets_ = std::max<int64_t>(1, ranks * packetRows * cdiv(n, elementsOfPacket(part)) * 2);
  bool gathers = ranks > 1 && kind == Kind::Gather;
  rows_ = memory.symmetricZeros({gathers ? ranks * shardRows(maxM, team.size()) : 1, k}, dtype, "rows");
  auto words = [&](int64_t count, const char* name) { return memory.symmetricZeros({count}, DType::Int64, name); };
  memory_ = {memory.symmetricEmpty({2, ranks, setElements_}, part, "few parts"),
             memory.symmetricEmpty({setElements_}, part, "sums"),
             markedSlots(team, memory, {2, setPackets_}, "packets"),
             memory.localZeros({splits}, DType::Float32, "splits"),
             words(programs, "counted"),
             memory.localZeros({1}, DType::Int32, "few ended"),
             words(tiles * ranks, "few ready"),
             words(tiles, "few done"),
             words(ranks, "few begun"),
             memory.localZeros({programs}, DType::Int64, "calls")};
}

// The same on all ranks.
int64_t FewRows::chunk(int64_t m) const {
  int64_t each = cdiv(shardRows(m, team_.size()) * k_, kChunks);
  return std::clamp(int64_t(std::bit_ceil(uint64_t(each))), kLeastChunk, kMostChunk);
}

void FewRows::run(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, const GemmConfig& c, int stream) {
  DType part = partType(dtype_);
  bool gathers = kind_ == Kind::Gather && team_.size() > 1;
  Tensor rows = gathers ? Tensor{rows_.address, {m, k_}, dtype_} : a;
  // Tiles are chosen by facts that all ranks share: the addresses of a rank's own tensors decide only how it reads
  // them.
  bool blocks = copiesBlocks({rows, b}, dtype_, c.bTransposed, team_.target());
  int64_t elements = elementsOfPacket(part), bytes = m * n_ * byteSize(part);
  bool packets = kind_ == Kind::Scatter || bytes <= packetsBytes_;
  bool aligned =
      n_ % elements == 0 && out.address % kPacketBytes == 0 && elements * byteSize(out.dtype) <= kPacketBytes;
  bool sums = kind_ == Kind::Reduce && team_.size() > 1;
  int64_t tiles = cdiv(m, c.blockM) * cdiv(n_, c.blockN);
  Cut cut = cutOf(c, tiles, cdiv(k_, c.blockK));
  std::vector<Argument> arguments{rows, b, out, a, rows};
  arguments.insert(arguments.end(), memory_.begin(), memory_.end());
  arguments.insert(arguments.end(),
                   {m, n_, k_, shardRows(m, team_.size()), cut.share, cut.tileSteps, setElements_, setPackets_});
  team_.launch(kernelOf("ops/gemm_ar/gemm_ar.py", "gemm_ar"), launchOf(c, stream, team_.size() > 1), arguments,
               {{"RANKS", int64_t(team_.size())},
                {"KIND", std::string(nameOf(kind_))},
                {"BM", int64_t(c.blockM)},
                {"BN", int64_t(c.blockN)},
                {"BK", int64_t(c.blockK)},
                {"CUT", cut.share > 0},
                {"ONE_SHOT", packets || bytes <= oneShotBytes_},
                {"BEHIND", sums && !packets && tiles > c.programs},
                {"GROUP", cdiv(m, c.blockM) > kMostTogether ? kGroup : 0},
                {"PACKETS", packets ? elements : 0},
                {"ALIGNED", aligned},
                {"CHUNK", chunk(m)},
                {"POLLS", pollsOn(team_)},
                {"B_BY_COLUMNS", c.bTransposed},
                {"DESCRIPTORS", blocks}});
}

}  // namespace tandem::ops
