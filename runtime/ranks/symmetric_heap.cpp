// A failure that one rank alone can have is told to all ranks before any goes on, so that all fail in the same way.
#include "runtime/ranks/symmetric_heap.h"
#include "runtime/ranks/wire.h"
#include <algorithm>
#include <numeric>

namespace tandem::runtime::ranks {

std::vector<int> allOf(const RankPlace& place) {
  std::vector<int> out(static_cast<size_t>(place.rankCount));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

int indexOf(const std::vector<int>& members, int rank) {
  return int(std::ranges::find(members, rank) - members.begin());
}

void SymmetricHeap::agree(const HeapRequest& request) {
  std::string mine = Writer().put(request.bytes).put(request.initialised).text(request.name.substr(0, 1000)).bytes;
  std::vector<Packet> all = ranks_.gather(members_, "allocate", mine);
  uint64_t first = Reader(all[0].bytes).get<uint64_t>();
  for (size_t r = 1; r < all.size(); ++r) {
    Reader in(all[r].bytes);
    uint64_t bytes = in.get<uint64_t>();
    in.get<bool>();
    if (bytes != first)
      throw std::invalid_argument("symmetric memory has one size on all ranks: rank " + std::to_string(members_[0]) +
                                  " asks for " + bytesText(first) + ", rank " + std::to_string(members_[r]) + " for " +
                                  bytesText(bytes) + (request.name.empty() ? "" : " (`" + request.name + "`)"));
  }
}

void SymmetricHeap::checkAll(const std::string& what, const std::string& problem) {
  std::vector<Packet> all = ranks_.gather(members_, what, problem.substr(0, 4000));
  for (size_t r = 0; r < all.size(); ++r)
    if (!all[r].bytes.empty())
      throw std::runtime_error("symmetric memory: rank " + std::to_string(members_[r]) + ": " + all[r].bytes);
}

Address SymmetricHeap::allocate(const HeapRequest& request, Stream stream, const std::function<void()>& beforeReuse) {
  agree(request);
  BesideCapture beside(device_);
  Part part = take(request.bytes);
  if (part.reused) {
    beforeReuse();
    ranks_.barrier(members_, "reuse");
  }
  if (request.initialised) {
    device_.set(stream, part.at, 0, part.bytes);
    device_.synchronize(stream);
  }
  ranks_.barrier(members_, "allocated");
  return part.at;
}

}  // namespace tandem::runtime::ranks
