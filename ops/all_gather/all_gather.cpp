// Host side of all-gather: packets for small results, copy engines for large ones.
#include "ops/all_gather/all_gather.h"
#include "ops/collective.h"
#include "ops/peer_copies.h"
#include "ops/packets/packets.h"
#include <algorithm>

namespace tandem::ops {
namespace tables {

const Table& all_gather() {
  using Kind = Number::Kind;
  static const Table table = [] {
    Table t{.name = "all_gather",
            .className = "AllGather",
            .what = "out[m, columns] = the rows x[rows_of_rank(m), columns] of all ranks, of any element type.",
            .sizes = {{"max_m", "the most rows over all ranks"}, {"columns", "of a row"}},
            .types = {},
            .typeWords = "any type",
            .tensors = {{"x", {"own(m)", "columns"}}, {"out", {"m", "columns"}, true}},
            .numbers = {{"m", Kind::Rows, "rows over all ranks"},
                        {"symmetric_out", Kind::Flag, "`out` is the same symmetric tensor on every rank"}},
            .options = collectiveOptions<AllGatherConfig>(),
            .isFlat = true};
    t.options.push_back(option<AllGatherConfig>("packets_bytes", &AllGatherConfig::packetsBytes,
                                                "results of at most so many bytes travel in packets", 0, kNoLimit,
                                                AllGatherConfig().packetsBytes));
    t.make = maker<AllGather, AllGatherConfig, 2>(all_gather);
    return t;
  }();
  return table;
}

}  // namespace tables

AllGather::AllGather(Team& team, int64_t maxM, int64_t columns, DType dtype, const AllGatherConfig& config)
    : Operator(tables::all_gather(), team, {maxM, columns}, dtype, &config), columns_(columns),
      packetsBytes_(config.packetsBytes) {
  int64_t shard = shardRows(maxM, team.size()) * columns, bytes = maxM * columns * byteSize(dtype);
  if (packetsBytes_ > 0) {
    int64_t atOnce = std::min(shard * byteSize(dtype), cdiv(std::min(packetsBytes_, exchangeBytes(team)), team.size()));
    packets_ = std::make_unique<Packets>(team, memory_, cdiv(atOnce, kPacketBytes), config, Packets::Kind::Bits);
  }
  if (bytes <= packetsBytes_) return;
  gathered_ = memory_.symmetricEmpty({team.size() * shard}, dtype, "gathered");
  copies_ = std::make_unique<PeerCopies>(team, memory_);
}

AllGather::~AllGather() = default;

void AllGather::queue(const Call& call) {
  const Tensor &x = call.tensors[0], &out = call.tensors[1];
  if (out.bytes() <= packetsBytes_)
    runPackets(x, out, call.numbers[0], call.stream);
  else
    runCopies(x, out, call.numbers[0], call.stream, call.numbers[1] != 0);
}

void AllGather::runPackets(const Tensor& x, const Tensor& out, int64_t m, int stream) {
  Tensor source = asIntegers(x), dest = asIntegers(out);
  int64_t shard = shardRows(m, team_.size()) * dest.size() / m;
  packets_->exchange("gather", source, dest, {dest.size(), shard, 0}, 0, shard, stream);
}

void AllGather::runCopies(const Tensor& x, const Tensor& out, int64_t m, int stream, bool symmetricOut) {
  int ranks = team_.size(), rank = team_.rank();
  int64_t shard = shardRows(m, ranks) * columns_;
  auto piece = [&](const Tensor& of, int ofRank) {
    return elementsOf(of, ofRank * shard, rowsOfRank(m, ranks, ofRank) * columns_);
  };
  const Tensor& landing = symmetricOut ? out : gathered_;
  int beside = ranks > 1 ? copies_->begin(stream) : stream;
  if (x.size() && piece(out, rank).address != x.address) team_.copy(piece(out, rank), x, stream);
  if (ranks == 1) return;
  for (int peer : copies_->peers()) copies_->send(peer, piece(landing, rank), x);
  copies_->receiveAll();
  if (!symmetricOut)
    for (int peer : copies_->peers())
      if (piece(out, peer).size()) team_.copy(piece(out, peer), piece(landing, peer), beside);
  copies_->end();
}

}  // namespace tandem::ops
