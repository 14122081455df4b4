// Memory of a channel of parts, and copies in turns.
#include "ops/scattering.h"
#include "ops/gemm_options.h"
#include <algorithm>

namespace tandem::ops {

Scattering::Scattering(Team& team, Memory& memory, int64_t rows, int64_t columns, int64_t tiles, DType dtype,
                       bool mayCopy)
    : CopyStream(team) {
  int64_t peers = team.size() - 1, some = std::max<int64_t>(peers, 1);
  parts_ = memory.symmetricEmpty({std::max<int64_t>(peers * rows, 1), columns}, dtype, "parts");
  auto distance = [&](int to) { return int64_t(team.peer(parts_, to).address - team.peer(parts_, to - 1).address); };
  if (peers) distance_ = distance(1) / byteSize(dtype);
  for (int rank = 2; rank < team.size(); ++rank) canStore_ = canStore_ && distance(rank) == distance(1);
  bool copies = peers && (mayCopy || !canStore_);
  ready_ = memory.symmetricZeros({peers * tiles}, DType::Int64, "ready");
  made_ = memory.localZeros(copies ? parts_.shape : std::vector<int64_t>{1}, dtype, "outgoing");
  arrived_ = memory.symmetricZeros({some}, DType::Int64, "arrived");
  brought_ = memory.symmetricZeros({some * kMostChunks}, DType::Int64, "brought");
  begun_ = memory.symmetricZeros({team.size()}, DType::Int64, "begun");
}

void Scattering::send(int64_t tiles, int64_t turn, uint64_t bytes) {
  std::vector<SignalStep> steps;
  for (int64_t first = 0, number = 0; first < tiles; first += turn, ++number)
    for (int nth = 0, rank = team_.rank(); int peer : peers()) {
      int slot = rank - (rank > peer);
      int64_t count = std::min(turn, tiles - first);
      Tensor brought = elementsOf(brought_, number * (team_.size() - 1) + nth, 1);
      steps.insert(steps.end(), {{brought, uint64_t(count), Compare::Ge}, {brought, 0}});
      team_.signals(steps, beside_);
      auto part = [&](const Tensor& parts, int64_t shard) {
        return Tensor{parts.address + uint64_t(shard * tiles + first) * bytes, {count * int64_t(bytes)}, DType::Int8};
      };
      copy(peer, part(parts_, slot), part(made_, nth++));
      steps = {{team_.peer(elementsOf(arrived_, slot, 1), peer), uint64_t(number + 1)}};
    }
  team_.signals(steps, beside_);
}

}  // namespace tandem::ops
