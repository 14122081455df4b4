// The registry has the contexts of the open ranks by device, and the worlds of one.
#include "runtime/backend/cuda/context_registry.h"
#include "abi/dist_context.h"
#include "runtime/backend/cuda/capture.h"
#include "runtime/backend/cuda/memory.h"
#include <iterator>
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <vector>

namespace tandem::runtime::cuda {
namespace {

struct Entry {
  int device = -1;
  Address context = 0;
  bool operator==(const Entry&) const = default;
};

struct Registry {
  std::mutex mutex;
  std::vector<Entry> open;
  std::map<int, Address> worldsOfOne;
};

Registry& registry() {
  static Registry* one = new Registry;  // threads may launch while the process ends
  return *one;
}

thread_local Entry mine;
std::atomic<Address> throughNvshmemNow = 0;

// All that a world of one needs, in one allocation.
struct WorldOfOne {
  tandem_dist_context context;
  tandem_dist_team teams[6];  // all that SHMEM names are this rank
  int32_t members[2], indices[2];
  uint64_t epochs[6], signals[6];
};

Address makeWorldOfOne(int device) {
  BesideCapture beside;
  Address at = allocate(device, sizeof(WorldOfOne));
  auto field = [&](size_t offset) { return reinterpret_cast<char*>(at + offset); };
  WorldOfOne world{};
  world.context.rank_count = 1;
  world.context.team_count = int32_t(std::size(world.teams));
  world.context.heap_base = at;
  world.context.teams = reinterpret_cast<tandem_dist_team*>(field(offsetof(WorldOfOne, teams)));
  for (size_t i = 0; i < std::size(world.teams); ++i) {
    world.teams[i].size = 1;
    world.teams[i].members = reinterpret_cast<int32_t*>(field(offsetof(WorldOfOne, members)));
    world.teams[i].indices = reinterpret_cast<int32_t*>(field(offsetof(WorldOfOne, indices)));
    world.teams[i].epoch = reinterpret_cast<uint64_t*>(field(offsetof(WorldOfOne, epochs) + i * sizeof(uint64_t)));
    world.teams[i].signals = reinterpret_cast<uint64_t*>(field(offsetof(WorldOfOne, signals) + i * sizeof(uint64_t)));
  }
  Stream stream = createStream(device);
  copyFromHost(device, stream, at, &world, sizeof world);
  synchronizeStream(device, stream);
  destroyStream(device, stream);
  return at;
}

}  // namespace

RegisteredContext::RegisteredContext(int device, Address context, bool throughNvshmem)
    : device_(device), context_(context) {
  if (throughNvshmem) throughNvshmemNow = context;
  std::lock_guard lock(registry().mutex);
  registry().open.push_back({device, context});
  mine = {device, context};
}

RegisteredContext::~RegisteredContext() {
  Address ended = context_;
  throughNvshmemNow.compare_exchange_strong(ended, 0);
  std::lock_guard lock(registry().mutex);
  std::erase(registry().open, Entry{device_, context_});
  if (mine == Entry{device_, context_}) mine = {};
}

Address nvshmemContext() { return throughNvshmemNow.load(std::memory_order_relaxed); }

Address rankContextOn(int device) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  auto isOpen = [&](const Entry& e) { return std::find(r.open.begin(), r.open.end(), e) != r.open.end(); };
  if (mine.device == device && isOpen(mine)) return mine.context;
  std::vector<Entry> here;
  for (const Entry& e : r.open)
    if (e.device == device) here.push_back(e);
  if (here.size() == 1) return here[0].context;
  if (here.size() > 1)
    throw std::invalid_argument("device " + std::to_string(device) + " has " + std::to_string(here.size()) +
                                " ranks, and the launching thread is none of them");
  Address& world = r.worldsOfOne[device];
  if (!world) world = makeWorldOfOne(device);
  return world;
}

}  // namespace tandem::runtime::cuda
