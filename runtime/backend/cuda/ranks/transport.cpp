// The driver says which devices a rank can reach, of those that this process sees. For others the attempt to map their
// memory decides.
#include "runtime/backend/cuda/ranks/transport.h"
#include "runtime/backend/cuda/driver.h"
#include "runtime/backend/cuda/nvshmem.h"
#include "runtime/ranks/wire.h"
#include <iterator>
#include <numeric>

namespace tandem::runtime::cuda {

using ranks::Packet;
using ranks::RankPlace;
using ranks::Reader;
using ranks::Rendezvous;
using ranks::Writer;

namespace {

constexpr const char* kWords[] = {"auto", "nvlink", "nvshmem"};

std::vector<int> worldOf(int rankCount) {
  std::vector<int> world(static_cast<size_t>(rankCount));
  std::iota(world.begin(), world.end(), 0);
  return world;
}

std::string busIdOf(int device) {
  char text[32] = "";
  auto ask = driver().deviceGetPciBusId;
  return ask && ask(text, sizeof text, device) == kSuccess ? text : "";
}

bool reaches(int device, const std::string& peerBusId) {
  const Driver& d = driver();
  int peer = -1, can = 1;
  if (peerBusId.empty() || !d.deviceGetByPciBusId || d.deviceGetByPciBusId(&peer, peerBusId.c_str()) != kSuccess)
    return true;
  if (peer == device || !d.deviceCanAccessPeer || d.deviceCanAccessPeer(&can, device, peer) != kSuccess) return true;
  return can != 0;
}

void needOwnProcess(const RankPlace& place, const std::string& why) {
  if (!place.ownProcess)
    throw std::invalid_argument(why +
                                "NVSHMEM has one rank a process, and this one has several: start them by `tandem run`");
}

}  // namespace

Transport transportOf(const std::string& word) {
  for (size_t i = 0; i < std::size(kWords); ++i)
    if (word == kWords[i]) return Transport(i);
  throw std::invalid_argument("`transport` is `" + word + "`; it is one of auto, nvlink, nvshmem");
}

bool agreeOnNvshmem(Rendezvous& ranks, Transport wish, const RankPlace& place) {
  std::vector<int> world = worldOf(place.rankCount);
  int unreached = -1;
  std::vector<Packet> all = ranks.gather(world, "transport", Writer().put(wish).text(busIdOf(place.device)).bytes);
  auto first = Reader(all[0].bytes).get<Transport>();
  for (int r : world) {
    Reader in(all[size_t(r)].bytes);
    if (auto other = in.get<Transport>(); other != first)
      throw std::invalid_argument("the ranks were started with different transports: rank 0 with `" +
                                  std::string(kWords[int(first)]) + "`, rank " + std::to_string(r) + " with `" +
                                  kWords[int(other)] + "`");
    if (unreached < 0 && r != place.rank && !reaches(place.device, in.text())) unreached = r;
  }
  if (wish == Transport::NvLink) return false;
  if (wish == Transport::Nvshmem) return needOwnProcess(place, ""), true;
  std::vector<Packet> answers = ranks.gather(world, "reach", Writer().put(unreached).bytes);
  for (int r : world)
    if (int peer = Reader(answers[size_t(r)].bytes).get<int>(); peer >= 0) {
      needOwnProcess(
          place, "the GPUs of ranks " + std::to_string(r) + " and " + std::to_string(peer) + " have no peer access; ");
      return true;
    }
  return false;
}

// A rank tells its problems before any rank makes a call that waits for all.
NvshmemWorld::NvshmemWorld(Rendezvous& ranks, const RankPlace& place)
    : ranks_(ranks), world_(worldOf(place.rankCount)) {
  std::string problem, id;
  try {
    if (place.rank == 0)
      id = nvshmem().uniqueId();
    else
      nvshmem();
  } catch (const std::exception& e) {
    problem = e.what();
  }
  std::vector<Packet> all = ranks.gather(world_, "NVSHMEM", Writer().text(problem.substr(0, 4000)).text(id).bytes);
  for (int r : world_)
    if (std::string told = Reader(all[size_t(r)].bytes).text(); !told.empty())
      throw Unavailable("rank " + std::to_string(r) + ": " + told);
  Reader first(all[0].bytes);
  first.text();
  nvshmem().start(place.rank, place.rankCount, first.text());
}

void NvshmemWorld::end() {
  ranks_.barrier(world_, "NVSHMEM ends");
  nvshmem().end();
}

}  // namespace tandem::runtime::cuda
