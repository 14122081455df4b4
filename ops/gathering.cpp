// Words that streams set and kernels wait for.
#include "ops/gathering.h"

namespace tandem::ops {

Gathering::Gathering(Team& team, Memory& memory, int64_t bands) : CopyStream(team) {
  int64_t before = team.size() + 2;  // a word for each rank and two more, which the kernel has
  Tensor words = memory.symmetricZeros({before + team.size() * bands}, DType::Int64, "ready");
  ready_ = elementsOf(words, before, team.size() * bands);
}

void Gathering::tell(int peer, int64_t slices, int64_t band, int64_t bands) {
  Tensor mine = elementsOf(ready_, team_.rank() * bands + band, 1);
  team_.signalWrite(team_.peer(mine, peer), uint64_t(slices), beside_);
}

}  // namespace tandem::ops
