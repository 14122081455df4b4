// Memory and teams of a rank.
#include "runtime/ranks/collective.h"
#include "runtime/ranks/shown.h"
#include "runtime/ranks/wire.h"

namespace tandem::runtime::ranks {

Address Rank::allocate(uint64_t bytes, bool symmetric, bool initialised, const std::string& name, int team) {
  Open& o = running();
  Stream aside = o.streams.aside();
  if (symmetric)
    return collective([&] {
      return heapOf(team).allocate({bytes, initialised, name}, aside, [&] {
        for (StreamId id = 0; id < o.streams.count(); ++id)
          if (!o.streams.capturing(id)) waitIdle(id);
      });
    });
  Address address = o.local.allocate(bytes);
  if (!initialised) return address;
  BesideCapture beside(*device_);
  device_->set(aside, address, 0, bytes);
  device_->synchronize(aside);
  return address;
}

std::vector<Stream> Rank::liveStreams() const {
  std::vector<Stream> out;
  for (StreamId id = 0; id < open_->streams.count(); ++id) out.push_back(open_->streams.at(id));
  return out;
}

void Rank::release(Address address) {
  Open& o = running();
  SymmetricHeap* heap = heapAt(address);
  if (!address || (heap && heap->release(address))) return;
  if (heap) throw std::invalid_argument("no symmetric memory begins at address " + std::to_string(address));
  o.local.release(address, liveStreams());
}

void Rank::releaseAsync(StreamId stream, Address address) {
  Open& o = running();
  if (!address) return;
  if (heapAt(address))
    throw std::invalid_argument("symmetric memory is released by all ranks together, not in stream order");
  o.local.release(address, {o.streams.at(stream)});
}

HostWords Rank::hostWords(uint64_t count) {
  Open& o = running();
  BesideCapture beside(*device_);
  SharedWords words = device_->allocateShared(count * sizeof(int32_t), "words of the host");
  o.hostWords.push_back(words);
  return {static_cast<int32_t*>(words.host), words.device};
}

Address Rank::peerAddress(Address address, int peer, int team) const {
  if (!open_) throw std::logic_error("rank " + std::to_string(me()) + " has not entered or has left");
  int count = team ? int(partOf(team).members.size()) : options_.place.rankCount;
  if (peer < 0 || peer >= count)
    throw std::invalid_argument("there is no rank " + std::to_string(peer) + " among " + std::to_string(count));
  SymmetricHeap& heap = heapOf(team);
  if (!heap.contains(address))
    throw std::invalid_argument("address " + std::to_string(address) + " is not in rank " + std::to_string(me()) +
                                "'s symmetric memory" + (team ? " of team " + std::to_string(team) : ""));
  return heap.onPeer(address, peer);
}

const Rank::Part& Rank::partOf(int team) const {
  auto part = open_->parts.find(team);
  if (part == open_->parts.end())
    throw std::invalid_argument("team " + std::to_string(team) + " of rank " + std::to_string(me()) +
                                " has no memory of its own");
  return *part->second;
}

SymmetricHeap& Rank::heapOf(int team) const { return team ? *partOf(team).heap : open_->heap; }

// Null: the address is in no symmetric memory.
SymmetricHeap* Rank::heapAt(Address address) const {
  if (open_->heap.contains(address)) return &open_->heap;
  for (const auto& [team, part] : open_->parts)
    if (part->heap->contains(address)) return part->heap.get();
  return nullptr;
}

void Rank::openPart(int team) {
  Open& o = running();
  if (!team || o.parts.contains(team)) return;
  BesideCapture beside(*device_);
  collective([&] {
    const std::vector<int>& members = o.context.membersOf(team);
    auto part = std::make_unique<Part>(o, meeting_, options_, members);
    meeting_.barrier(members, "a team's own memory");
    o.parts[team] = std::move(part);
  });
}

// The text goes in pieces that the meeting carries; all members send as many as the longest text needs.
std::vector<std::string> Rank::gather(int team, const std::string& bytes) {
  constexpr size_t piece = 50000;
  const std::vector<int>& members = running().context.membersOf(team);
  const std::string what = "gather of team " + std::to_string(team);
  std::vector<std::string> out(members.size());
  collective([&] {
    size_t longest = 0;
    for (const Packet& p : meeting_.gather(members, what, Writer().put(uint64_t(bytes.size())).bytes))
      longest = std::max(longest, size_t(Reader(p.bytes).get<uint64_t>()));
    for (size_t first = 0; first < longest; first += piece) {
      std::vector<Packet> packets =
          meeting_.gather(members, what, first < bytes.size() ? bytes.substr(first, piece) : std::string());
      for (size_t i = 0; i < members.size(); ++i) out[i] += packets[i].bytes;
    }
  });
  return out;
}

int Rank::createTeam(const std::vector<int>& members) {
  Open& o = running();
  BesideCapture beside(*device_);
  return collective([&] { return o.context.createTeam(members, o.streams.aside()); });
}

// Returns -1 if the address is in no rank's part of the symmetric heap, or if the parts do not lie side by side.
int Rank::rankAt(Address address) const {
  auto indexAt = [&](const SymmetricHeap& heap, int index, size_t count) {
    auto stride = uint64_t(heap.stride());
    if (!stride) return -1;
    Address first = heap.base() - uint64_t(index) * stride;
    uint64_t part = (address - first) / stride;
    return address >= first && part < count ? int(part) : -1;
  };
  for (const auto& [team, part] : open_->parts)
    if (int index = indexAt(*part->heap, part->index, part->members.size()); index >= 0)
      return part->members[size_t(index)];
  return indexAt(open_->heap, me(), size_t(options_.place.rankCount));
}

void Rank::copy(StreamId stream, Address dest, Address source, uint64_t bytes) {
  Stream on = running().streams.at(stream);
  auto queue = [&] { device_->copy(on, dest, source, bytes); };
  shown(stream, interpreter::SpanKind::Copy, "on the device", queue, bytes, {dest, source});
}
void Rank::copyRows(StreamId stream, Address dest, uint64_t destPitch, Address source, uint64_t sourcePitch,
                    uint64_t bytes, uint64_t rows) {
  Stream on = running().streams.at(stream);
  auto queue = [&] { device_->copyRows(on, dest, destPitch, source, sourcePitch, bytes, rows); };
  shown(stream, interpreter::SpanKind::Copy, "of rows", queue, bytes * rows, {dest, source});
}
void Rank::set(StreamId stream, Address dest, uint8_t value, uint64_t bytes) {
  device_->set(running().streams.at(stream), dest, value, bytes);
}
void Rank::copyFromHost(StreamId stream, Address dest, const void* source, uint64_t bytes) {
  Stream on = running().streams.at(stream);
  auto queue = [&] { device_->copyFromHost(on, dest, source, bytes); };
  shown(stream, interpreter::SpanKind::Copy, "from the host", queue, bytes);
}
void Rank::copyToHost(StreamId stream, void* dest, Address source, uint64_t bytes) {
  Stream on = running().streams.at(stream);
  auto queue = [&] { device_->copyToHost(on, dest, source, bytes); };
  shown(stream, interpreter::SpanKind::Copy, "to the host", queue, bytes);
}

}  // namespace tandem::runtime::ranks
