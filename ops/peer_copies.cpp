// Signals of constant values around copies.
#include "ops/peer_copies.h"

namespace tandem::ops {

Tensor elementsOf(const Tensor& t, int64_t first, int64_t count) {
  return {t.address + uint64_t(first * byteSize(t.dtype)), {count}, t.dtype};
}

PeerCopies::PeerCopies(Team& team, Memory& memory, int parts)
    : team_(team), begun_(memory.symmetricZeros({team.size()}, DType::Int32, "begun")),
      ready_(memory.symmetricZeros({parts * team.size()}, DType::Int32, "ready")) {}

Tensor PeerCopies::readyOf(int from, int part) const {
  return elementsOf(ready_, int64_t(part) * team_.size() + from, 1);
}

std::vector<int> PeerCopies::peers() const {
  std::vector<int> out;
  for (int distance = 1; distance < team_.size(); ++distance) out.push_back((team_.rank() + distance) % team_.size());
  return out;
}

int PeerCopies::begin(int stream) {
  stream_ = stream;
  beside_ = team_.streamBeside(stream);
  isReceived_.assign(size_t(team_.size()), false);
  team_.waitEvent(team_.recordEvent(stream), beside_);
  std::vector<SignalStep> steps;
  for (int peer : peers()) steps.push_back({team_.peer(elementsOf(begun_, team_.rank(), 1), peer), 1});
  for (int peer : peers()) {
    Tensor begun = elementsOf(begun_, peer, 1);
    steps.insert(steps.end(), {{begun, 1, Compare::Eq}, {begun, 0}});
  }
  team_.signals(steps, beside_);
  return beside_;
}

void PeerCopies::send(int peer, const Tensor& to, const Tensor& from, int part) {
  if (from.size()) team_.copy(team_.peer(to, peer), from, beside_);
  team_.signalWrite(team_.peer(readyOf(team_.rank(), part), peer), 1, beside_);
}

void PeerCopies::receive(int peer, int part) {
  Tensor ready = readyOf(peer, part);
  team_.signals({{ready, 1, Compare::Eq}, {ready, 0}}, beside_);
  isReceived_[size_t(peer)] = true;
}

void PeerCopies::receiveAll() {
  std::vector<SignalStep> steps;
  for (int peer : peers()) {
    if (isReceived_[size_t(peer)]) continue;
    Tensor ready = readyOf(peer, 0);
    steps.insert(steps.end(), {{ready, 1, Compare::Eq}, {ready, 0}});
  }
  if (!steps.empty()) team_.signals(steps, beside_);
}

void PeerCopies::end() { team_.waitEvent(team_.recordEvent(beside_), stream_); }

}  // namespace tandem::ops
