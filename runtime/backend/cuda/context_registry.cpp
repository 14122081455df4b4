// Contexts of the open ranks by device, and the worlds of one.
#include "runtime/backend/cuda/context_registry.h"
#include "abi/dist_context.h"
#include "runtime/backend/cuda/capture.h"
#include "runtime/backend/cuda/memory.h"
#include <algorithm>
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

// All that a world of one needs, in one allocation.
struct WorldOfOne {
  tandem_dist_context context;
  tandem_dist_team team;
  int32_t members[2], indices[2];
  uint64_t epoch, signal;
};

Address makeWorldOfOne(int device) {
  BesideCapture beside;
  Address at = allocate(device, sizeof(WorldOfOne));
  auto field = [&](size_t offset) { return reinterpret_cast<char*>(at + offset); };
  WorldOfOne world{};
  world.context.rank_count = world.context.team_count = 1;
  world.context.heap_base = at;
  world.context.teams = reinterpret_cast<tandem_dist_team*>(field(offsetof(WorldOfOne, team)));
  world.team.size = 1;
  world.team.members = reinterpret_cast<int32_t*>(field(offsetof(WorldOfOne, members)));
  world.team.indices = reinterpret_cast<int32_t*>(field(offsetof(WorldOfOne, indices)));
  world.team.epoch = reinterpret_cast<uint64_t*>(field(offsetof(WorldOfOne, epoch)));
  world.team.signals = reinterpret_cast<uint64_t*>(field(offsetof(WorldOfOne, signal)));
  Stream stream = createStream(device);
  copyFromHost(device, stream, at, &world, sizeof world);
  synchronizeStream(device, stream);
  destroyStream(device, stream);
  return at;
}

}  // namespace

RegisteredContext::RegisteredContext(int device, Address context) : device_(device), context_(context) {
  std::lock_guard lock(registry().mutex);
  registry().open.push_back({device, context});
  mine = {device, context};
}

RegisteredContext::~RegisteredContext() {
  std::lock_guard lock(registry().mutex);
  std::erase(registry().open, Entry{device_, context_});
  if (mine == Entry{device_, context_}) mine = {};
}

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
