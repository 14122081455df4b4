// Spin locks and the order in which threads take them.
#pragma once
#include "interpreter/check/actors.h"
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace tandem::interpreter {
struct PreparedProgram;
}

namespace tandem::interpreter::check {

// Returns true if the atomic at `pc` is repeated by a loop that writes nothing else.
bool spins(const PreparedProgram& program, uint32_t pc);

struct HeldLock {
  uint64_t address = 0, free = 0;  // the value of a lock that nobody holds
  Stamp by;
};

// Somebody has taken a lock while it held others. It counts when the same thread has given both back: a word that
// another thread resets is a flag.
struct LockOrder {
  uint64_t held = 0, taken = 0;
  Stamp by;
  Part thread = kEveryThread;
  std::vector<uint64_t> others;  // all that it held
  bool heldBack = false, takenBack = false;
  Clock met;  // its program's clock when all last met, or began: orders that hold without locks
};

// All orders: of those that a thread has taken while it held the same locks, the last one.
class LockOrders {
 public:
  void add(LockOrder order) {
    auto [known, isNew] = known_.try_emplace({order.by.actor, order.thread, order.held, order.taken, order.others});
    if (!isNew) {
      if (!known->second->met.same(order.met)) *known->second = std::move(order);
      return;
    }
    LockOrder& kept = *(known->second = &orders_.emplace_back(std::move(order)));
    from_[kept.held].push_back(&kept);
    taken_[kept.held].insert(kept.taken);
  }
  template <class Body>
  void eachOf(uint32_t actor, Part thread, Body body) {
    for (auto o = known_.lower_bound({actor, thread, 0, 0, {}}); o != known_.end(); ++o) {
      if (o->second->by.actor != actor || o->second->thread != thread) return;
      body(*o->second);
    }
  }
  // Returns true if body(order) is true for some order whose holder of the lock takes another one.
  template <class Body>
  bool anyFrom(uint64_t held, Body body) const {
    auto orders = from_.find(held);
    return orders != from_.end() &&
           std::any_of(orders->second.begin(), orders->second.end(), [&](const LockOrder* o) { return body(*o); });
  }
  // Returns true if orders lead from one lock to another.
  bool leads(uint64_t from, uint64_t to) const {
    std::set<uint64_t> reached{from};
    for (std::vector<uint64_t> open{from}; !open.empty();) {
      auto next = taken_.find(open.back());
      open.pop_back();
      if (next == taken_.end()) continue;
      for (uint64_t lock : next->second) {
        if (lock == to) return true;
        if (reached.insert(lock).second) open.push_back(lock);
      }
    }
    return false;
  }

 private:
  std::deque<LockOrder> orders_;
  std::map<std::tuple<uint32_t, Part, uint64_t, uint64_t, std::vector<uint64_t>>, LockOrder*> known_;
  std::map<uint64_t, std::vector<const LockOrder*>> from_;  // by the lock held
  std::map<uint64_t, std::set<uint64_t>> taken_;
};

}  // namespace tandem::interpreter::check
