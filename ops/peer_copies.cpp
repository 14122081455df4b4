// Signals of constant values around copies.
#include "ops/peer_copies.h"

namespace tandem::ops {

Tensor elementsOf(const Tensor& t, int64_t first, int64_t count) {
  return {t.address + uint64_t(first * byteSize(t.dtype)), {count}, t.dtype};
}

Tensor rowsOf(const Tensor& t, int64_t first, int64_t rows, int64_t columns) {
  return {elementsOf(t, first * columns, 0).address, {rows, columns}, t.dtype};
}

int CopyStream::begin(int stream) {
  stream_ = beside_ = stream;
  if (team_.size() == 1) return stream;
  beside_ = team_.streamBeside(stream);
  team_.waitEvent(team_.recordEvent(stream), beside_);
  return beside_;
}

void CopyStream::copy(int peer, const Tensor& to, const Tensor& from, int64_t first, int64_t columns) {
  if (!from.size()) return;
  Tensor there = team_.peer(to, peer);
  if (columns < 0 || (to.shape == from.shape && columns == from.shape[1])) return team_.copy(there, from, beside_);
  team_.copyColumns(there, from, first, columns, beside_);
}

void CopyStream::end() {
  if (beside_ != stream_) team_.waitEvent(team_.recordEvent(beside_), stream_);
}

std::vector<int> CopyStream::peers() const {
  std::vector<int> out;
  for (int distance = 1; distance < team_.size(); ++distance) out.push_back((team_.rank() + distance) % team_.size());
  return out;
}

PeerCopies::PeerCopies(Team& team, Memory& memory, int parts)
    : CopyStream(team), begun_(memory.symmetricZeros({team.size()}, DType::Int32, "begun")),
      ready_(memory.symmetricZeros({parts * team.size()}, DType::Int32, "ready")) {}

Tensor PeerCopies::readyOf(int from, int part) const {
  return elementsOf(ready_, int64_t(part) * team_.size() + from, 1);
}

int PeerCopies::begin(int stream) {
  CopyStream::begin(stream);
  isReceived_.assign(size_t(team_.size()), false);
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
  copy(peer, to, from);
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

}  // namespace tandem::ops
