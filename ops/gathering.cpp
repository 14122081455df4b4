// Words that streams set and kernels wait for.
#include "ops/gathering.h"
#include <algorithm>

namespace tandem::ops {

Gathering::Gathering(Team& team, Memory& memory, int64_t bands) : CopyStream(team) {
  int64_t before = team.size() + 2;  // a word for each rank and two more, which the kernel has
  Tensor words = memory.symmetricZeros({before + team.size() * bands}, DType::Int64, "ready");
  ready_ = elementsOf(words, before, team.size() * bands);
}

void Gathering::send(const Tensor& to, const Tensor& from, const Slices& slices) {
  int64_t k = from.shape[1];
  size_t nth = 0;
  for (int peer : peers())
    for (int64_t band = 0; band < slices.bands; ++band) {
      int64_t top = band * slices.bandRows, rows = std::clamp<int64_t>(from.shape[0] - top, 0, slices.bandRows),
              slice = 0;
      for (int count : slices.copies[nth++]) {
        int64_t first = slice * slices.columns;
        copy(peer, rowsOf(to, top, rows, k), rowsOf(from, top, rows, k), first,
             std::min(count * slices.columns, k - first));
        slice += count;
        if (rows || slice == slices.count) tell(peer, slice, band, slices.bands);
      }
    }
}

void Gathering::tell(int peer, int64_t slices, int64_t band, int64_t bands) {
  Tensor mine = elementsOf(ready_, team_.rank() * bands + band, 1);
  team_.signalWrite(team_.peer(mine, peer), uint64_t(slices), beside_);
}

}  // namespace tandem::ops
