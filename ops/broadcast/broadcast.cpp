// Host side of broadcast: packets for small tensors; for large ones the root copies a part to each peer, which copies
// it to the others. So the root sends the tensor once, however many ranks there are.
#include "ops/broadcast/broadcast.h"
#include "ops/collective.h"
#include "ops/peer_copies.h"
#include "ops/packets/packets.h"
#include <algorithm>

namespace tandem::ops {
namespace tables {

const Table& broadcast() {
  using Kind = Number::Kind;
  static const Table table = [] {
    Table t{.name = "broadcast",
            .className = "Broadcast",
            .what = "out = the root's x, on every rank, of any element type. `out` may be `x`.",
            .sizes = {{"max_elements", "the most elements of x"}},
            .types = {},
            .typeWords = "any type",
            .tensors = {{"x", {"elements"}}, {"out", {"elements"}, true}},
            .numbers = {{"elements", Kind::Elements, "of x"},
                        {"root", Kind::Rank, "the rank whose x it is"},
                        {"symmetric_out", Kind::Flag, "`out` is the same symmetric tensor on every rank"}},
            .options = collectiveOptions<BroadcastConfig>(),
            .isFlat = true};
    t.options.push_back(option<BroadcastConfig>("packets_bytes", &BroadcastConfig::packetsBytes,
                                                "up to so many, the tensor's times the peers twice, travel in packets",
                                                0, kNoLimit, BroadcastConfig().packetsBytes));
    t.make = maker<Broadcast, BroadcastConfig, 1>(broadcast);
    return t;
  }();
  return table;
}

}  // namespace tables

Broadcast::Broadcast(Team& team, int64_t maxElements, DType dtype, const BroadcastConfig& config)
    : Operator(tables::broadcast(), team, {maxElements}, dtype, &config) {
  int64_t bytes = maxElements * byteSize(dtype), peers = std::max(1, team.size() - 1);
  // The root's link carries packets to each peer, so they take `peers` times as long as copies, of which it sends parts.
  mostInPackets_ = config.packetsBytes / (peers * peers);
  if (mostInPackets_ > 0) {
    int64_t atOnce = std::min({bytes, mostInPackets_, exchangeBytes(team) / peers});
    packets_ = std::make_unique<Packets>(team, memory_, cdiv(atOnce, kPacketBytes), config, Packets::Kind::Bits);
  }
  if (bytes <= mostInPackets_) return;
  landing_ = memory_.symmetricEmpty({maxElements}, dtype, "landing");
  copies_ = std::make_unique<PeerCopies>(team, memory_);
}

Broadcast::~Broadcast() = default;

void Broadcast::queue(const Call& call) {
  const Tensor &x = call.tensors[0], &out = call.tensors[1];
  int root = int(call.numbers[1]);
  if (x.bytes() > mostInPackets_) return runCopies(x, out, root, call.stream, call.numbers[2] != 0);
  Tensor source = asIntegers(x);
  packets_->exchange("broadcast", source, asIntegers(out), {source.size(), 0, 0}, root, source.size(), call.stream);
}

void Broadcast::runCopies(const Tensor& x, const Tensor& out, int root, int stream, bool symmetricOut) {
  int ranks = team_.size(), rank = team_.rank();
  bool isRoot = rank == root;
  if (isRoot && out.address != x.address) team_.copy(out, x, stream);
  if (ranks == 1) return;
  int64_t n = x.size(), each = cdiv(n, ranks - 1);
  // The part that the peer passes on.
  auto part = [&](const Tensor& of, int peer) {
    int64_t first = std::min(n, ((peer - root + ranks) % ranks - 1) * each);
    return elementsOf(of, first, std::min(each, n - first));
  };
  const Tensor& landing = symmetricOut ? out : landing_;
  int beside = copies_->begin(stream);
  if (isRoot) {
    for (int peer : copies_->peers()) copies_->send(peer, part(landing, peer), part(x, peer));
  } else {
    copies_->send(root, landing, elementsOf(landing, 0, 0));
    copies_->receive(root);
    for (int peer : copies_->peers())
      if (peer != root) copies_->send(peer, part(landing, rank), part(landing, rank));
  }
  copies_->receiveAll();
  if (!isRoot && !symmetricOut) team_.copy(out, elementsOf(landing, 0, n), beside);
  copies_->end();
}

}  // namespace tandem::ops
