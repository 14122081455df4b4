// Runnable lists, wait lists and teams.
#include "interpreter/vm/machine.h"
#include <algorithm>
#include <fstream>
#include <iterator>

namespace tandem::interpreter {

Machine::Machine(const WorldOptions& o)
    : options(o), arena(o.rankCount, o.slotsPerRank, o.heapBytesPerRank), random(o.seed), lateness(~o.seed),
      clock(o.machine) {
  for (int r = 0; r < o.rankCount; ++r) world_.push_back(r);
}
Machine::~Machine() = default;

void Machine::makeRunnable(Task& t) {
  if (t.runnableIndex != Task::kNotRunnable) return;
  t.runnableIndex = uint32_t(runnable.size());
  runnable.push_back(&t);
}

void Machine::block(Task& t, Blocked why) {
  if (t.runnableIndex != Task::kNotRunnable) {
    runnable.back()->runnableIndex = t.runnableIndex;
    std::swap(runnable[t.runnableIndex], runnable.back());
    runnable.pop_back();
    t.runnableIndex = Task::kNotRunnable;
  }
  t.blocked = why;
  if (why != Blocked::No) blockedTasks.insert(&t);
}

void Machine::wake(Task& t) {
  if (t.blocked == Blocked::No) return;
  t.blocked = Blocked::No;
  blockedTasks.erase(&t);
  clearWaiters(t);
  if (!sleepers.empty()) {
    auto it = std::find(sleepers.begin(), sleepers.end(), &t);
    if (it != sleepers.end()) sleepers.erase(it);
  }
  makeRunnable(t);
}

void Machine::watch(Task& t, Address address, uint32_t bytes) {
  Allocation* a = arena.find(address);
  if (!a) return;
  if (t.waiterCount == t.waiters.size()) t.waiters.emplace_back();
  Waiter& w = t.waiters[t.waiterCount++];
  w.allocation = a;
  w.address = address;
  w.bytes = bytes;
  w.task = &t;
  w.place = a->waiters.emplace(address, &w);
  a->longestWaiter = std::max(a->longestWaiter, bytes);
}

void Machine::clearWaiters(Task& t) {
  for (size_t i = 0; i < t.waiterCount; ++i) {
    Waiter& w = t.waiters[i];
    w.allocation->waiters.erase(w.place);
    if (w.allocation->waiters.empty()) w.allocation->longestWaiter = 0;
  }
  t.waiterCount = 0;
}

void Machine::wakeWaiters(Allocation& a, Address address, uint64_t bytes) {
  Address first = address - std::min<uint64_t>(address, a.longestWaiter);
  for (auto it = a.waiters.lower_bound(first); it != a.waiters.end() && it->first < address + bytes;) {
    Waiter& w = *it->second;
    if (w.address + w.bytes <= address) {
      ++it;
      continue;
    }
    // Waking removes every waiter of the task, perhaps the next one too: look again from here.
    first = it->first;
    wake(*w.task);
    it = a.waiters.lower_bound(first);
  }
}

const std::vector<int>* Machine::team(int id, int rank) {
  if (id == 0 || id == 1 || id == 2 || id == 5) return &world_;
  if (id == 3 || id == 4) {
    alone_.assign(1, rank);
    return &alone_;
  }
  auto it = teams.find(id);
  return it == teams.end() ? nullptr : &it->second;
}

uint32_t HostPlaces::indexOf(const std::string& file, uint32_t line) {
  if (file.empty()) return kNoLocation;
  auto [known, isNew] = known_.try_emplace({file, line}, uint32_t(program_.locations.size()));
  if (!isNew) return known->second;
  auto& files = program_.files;
  auto of = std::find_if(files.begin(), files.end(), [&](const SourceFilePtr& f) { return f->name == file; });
  if (of == files.end()) {
    std::ifstream in(file);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    of = files.insert(of, std::make_shared<SourceFile>(SourceFile{file, std::move(text), 1}));
  }
  program_.locations.push_back({uint32_t(of - files.begin()), {line, 1, line, 1}, kNoLocation});
  return known->second;
}

}  // namespace tandem::interpreter
