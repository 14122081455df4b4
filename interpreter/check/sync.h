// Strong writes carry knowledge to their readers: messages by address, and the uses of signals.
#pragma once
#include "interpreter/check/actors.h"
#include "interpreter/op.h"
#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <unordered_map>

namespace tandem::interpreter::check {

// A release that a strong read of the address may acquire: two clocks as they were, and times of the releaser itself.
struct Release {
  uint32_t actor = 0;
  int rank = 0;
  Scope scope = Scope::Sys;
  Scope fence = Scope::Sys;  // of the fence that makes it one
  Clock common, extra;
  Part part = kEveryThread;
  uint32_t partTime = 0, everyTime = 0, tileTime = 0;
  Part putPart = 0;  // transfers to one peer up to a number
  uint32_t puts = 0;
  bool hasSinglePuts = false;  // in `extra`
  bool hasWaits = false;       // in `extra`
  bool carriesChain = false;   // all releases of its chain before it, too
  bool isOfThread = false;     // one thread's release operation: its later strong writes here carry it on
  bool isFull = false;         // it carries all that its thread knew
  // The times that it would carry with nothing left out.
  uint32_t now = 0, transfers = 0;

  void addTo(Clock& c) const { addTo(c, common); }
  // `shared`: the part of `common` that the clock's owner does not know.
  void addTo(Clock& c, const Clock& shared) const {
    c.join(shared);
    c.join(extra);
    c.raise(keyOf(actor, kEveryThread), everyTime);
    c.raise(keyOf(actor, part), partTime);
    c.raise(keyOf(actor, 0xffff), tileTime);
    if (puts) c.raise(keyOf(actor, putPart), puts);
  }
  // Adds the knowledge as if it had come over an edge that only the fence's scope breaks.
  void addNarrowTo(Clock& c) const { addNarrowTo(c, common); }
  void addNarrowTo(Clock& c, const Clock& shared) const {
    Clock all;
    addTo(all, shared);
    all.each([&](const Clock::Entry& e) { c.raise(e.key >= kSignalOrder ? e.key : kNarrow | e.key, e.time); });
  }
  void addAllTo(Clock& c) const { addAllTo(c, common); }
  void addAllTo(Clock& c, const Clock& shared) const {
    addTo(c, shared);
    c.raise(keyOf(actor, kEveryThread), now);
    c.raise(keyOf(actor, kAllTransfers), transfers);
  }
};

// What an update does to the value, where that is the same before and behind others of its kind.
struct Commuting {
  RmwOp op{};
  Elem elem{};
  uint64_t operand = 0;

  bool isLike(const Commuting& other) const { return op == other.op && elem == other.elem; }
  uint64_t after(uint64_t value) const;
};

// Whether an atomic tells others something that a store of its word would wipe out.
enum class Counts : uint8_t { No, IfAwaited, Yes };  // IfAwaited: if a loop waits for the word

// One update of a place, in the order of its modification. A reader of it acquires the releases [chain, end).
struct UpdatePoint {
  Stamp by;
  uint64_t value = 0, chain = 0, end = 0;
  std::optional<Commuting> commuting{};
  bool sets = false;           // the value, whatever it was
  bool clears = false;         // bits, by an `and` whose old value nobody uses
  Counts counts = Counts::No;  // by an atomic, for others
  uint64_t clash = 0;          // the last update that this one does not come after, of which one may be lost; 0: none
  uint64_t seen = 0;           // of one that commutes: its author knows of a look at this one, so it comes behind it
};

// What a run of releases of scope `sys` brings together, and what it would bring with nothing left out.
struct ReleaseBlock {
  Clock brings, all;
};

// A look acquires releases [begin, end) of a place; `number` is the update that it must have seen.
struct Acquired {
  uint64_t begin = 0, end = 0, number = 0;
};

// A place of memory that strong writes go to. It keeps all its updates by number, since a wait may have seen any of
// them. An update that does not depend on the old value begins a chain. Releases have numbers of their own.
class SyncPlace {
 public:
  // One kind of acquiring by one actor: when it acquires again in the same way, only later releases bring anything.
  struct Reader {
    uint32_t actor = 0;
    Part part = kEveryThread;
    bool acquires = true;
    Scope scope = Scope::Sys;
    uint32_t location = 0;  // 0: it does not matter
    auto operator<=>(const Reader&) const = default;
  };
  // The update that a thread has had to see; `waited`: by a wait, which may have ended with it.
  struct Look {
    Stamp by;
    uint64_t number = 0;
    bool waited = false;
    uint64_t end = 0;       // of the releases that were there
    uint64_t allKnown = 0;  // it comes after all updates up to this one
    uint64_t certain = 0;   // it has seen all updates up to this one in whatever order they have come
  };
  // The end of the releases that a reader has been through; `all`: it has got everything that they carry.
  struct Taken {
    uint64_t end = 0;
    bool all = true;
  };
  uint32_t key = 0;                // of the numbers of its updates, in clocks; 0: none knows them
  std::vector<uint64_t> clashing;  // updates with a clash that no loop which waits has judged
  bool isAwaited = false;          // by a loop
  std::map<Reader, Taken> taken;
  std::map<std::pair<uint32_t, Part>, Look> looks;  // by actor and thread: the last one

  // Forgets those who look no more, whenever the readers have doubled.
  template <class HasEnded>
  void forgetReaders(HasEnded hasEnded) {
    if (taken.size() + looks.size() < readersLimit_) return;
    std::erase_if(taken, [&](const auto& t) { return hasEnded(t.first.actor); });
    std::erase_if(looks, [&](const auto& l) { return hasEnded(l.first.first); });
    readersLimit_ = std::max(kReaders, 2 * (taken.size() + looks.size()));
  }

  void beginChain() { chain_ = endOfReleases(); }
  // Called before a strong write by a thread: the thread's own earlier releases go with it, except those that its
  // release of a scope, if any, stands for.
  void carryOn(uint32_t actor, Part part, std::optional<Scope> released);
  void add(Release r) { releases_.push_back(std::move(r)); }
  // Returns true if body(release) is true for some release between the update that was enough for a look and the last
  // one there when it looked.
  template <class Body>
  bool anyBetween(const Look& look, Body body) const {
    const UpdatePoint* enough = update(look.number);
    return any(enough ? enough->end : 0, look.end, body);
  }
  // Likewise for those before a number, and for those of an update.
  template <class Body>
  bool anyBefore(uint64_t end, Body body) const {
    return any(0, end, body);
  }
  template <class Body>
  bool brings(uint64_t number, Body body) const {
    const UpdatePoint *u = update(number), *before = update(number - 1);
    return u && any(before ? before->end : 0, u->end, body);
  }
  const Release& release(uint64_t number) const { return releases_[number - firstRelease_]; }
  // The releases [number, number + kBlock) put together, for readers that acquire them all; null: they have to be looked at
  // one by one.
  static constexpr uint64_t kBlock = 64;
  const ReleaseBlock* blockAt(uint64_t number);
  // A look at the current value of memory brings all of the last chain.
  Acquired all() const { return {std::max(chain_, firstRelease_), endOfReleases(), newest()}; }

  // A look of which no more is known than that it has seen this update.
  Acquired upTo(uint64_t number) const {
    if (const UpdatePoint* u = update(number)) return {std::max(u->chain, firstRelease_), u->end, number};
    return number ? all() : Acquired();
  }

  // The numbers of the oldest and the newest update that are remembered.
  uint64_t oldest() const { return before_ + 1; }
  uint64_t newest() const { return before_ + updates_.size(); }
  uint64_t value() const { return value_; }
  uint64_t valueOf(uint64_t number) const { return number > before_ ? update(number)->value : initial_; }
  // Calls body(number, release) for each release of an update.
  template <class Body>
  void eachRelease(uint64_t number, Body body) const {
    const UpdatePoint* before = update(number - 1);
    for (uint64_t k = std::max(before ? before->end : 0, firstRelease_); k < update(number)->end; ++k)
      body(k, release(k));
  }
  // Returns null for the value from before all updates, and for a forgotten update.
  const UpdatePoint* update(uint64_t number) const {
    return number > before_ && number <= newest() ? &updates_[number - before_ - 1] : nullptr;
  }
  // The number of an update by its stamp; 0: it is forgotten.
  uint64_t numberOf(const Stamp& by) const {
    auto author = authorOf_.find({by.actor, by.part});
    if (author == authorOf_.end()) return 0;
    const std::vector<uint64_t>& numbers = author->second->numbers;
    auto isIt = [&](uint64_t n) { return update(n) && update(n)->by.time == by.time; };
    auto found = std::find_if(numbers.rbegin(), numbers.rend(), isIt);
    return found == numbers.rend() ? 0 : *found;
  }
  // Called after a strong write, which `update` describes; `reads`: by an atomic, which has seen the value before.
  void wrote(UpdatePoint update, uint64_t old, bool reads);
  // The newest update does not come after this one, and one of them may be lost.
  void clashes(uint64_t number) {
    updates_.back().clash = number;
    clashing.push_back(newest());
  }
  // The last update that sets the value or clears bits of it.
  uint64_t lastSet() const { return lastSet_; }
  uint64_t changedBits(uint64_t number) const { return valueOf(number) ^ valueOf(number - 1); }
  // The updates from this one on do the same to the value in any order.
  uint64_t sameKindSince() const { return sameKindSince_; }
  size_t authorCount() const { return authors_.size(); }
  // Calls body(numbers) for each author, with those of its updates.
  template <class Body>
  void eachAuthor(Body body) const {
    for (const Author& a : authors_) body(a.numbers);
  }
  // No older value is left for this thread to see. `spared`: the first release that it may have done without, if any.
  void sees(const Stamp& by, uint64_t number, bool waited, std::optional<uint64_t> spared = {}) {
    uint64_t certain = number;
    while (spared && update(certain) && update(certain)->end > *spared) --certain;
    Look& look = looks[{by.actor, by.part}];
    look = {by, number, waited, endOfReleases(), look.allKnown, std::max(look.certain, certain)};
    comesAfter(by, number);
  }
  // The newest update comes behind what looks have seen that its author knows of. `knows(stamp)`.
  template <class Knows>
  void comesBehindLooks(Knows knows) {
    uint64_t& seen = updates_.back().seen;
    for (const auto& [reader, look] : looks)
      if (look.certain > seen && knows(look.by)) seen = look.certain;
  }
  bool isAcquired() const { return lastSeen_ == newest(); }
  const Stamp& seenBy() const { return seenBy_; }
  // The update that somebody has had to see.
  const UpdatePoint* lastSeen() const { return update(lastSeen_); }

  // The number of the last update that a reader has seen or knows of; 0: none. `knows(stamp)`.
  template <class Knows>
  uint64_t lastKnown(uint32_t actor, Part part, Knows knows) const {
    uint64_t number = 0;
    for (auto look = looks.lower_bound({actor, 0}); look != looks.end() && look->first.first == actor; ++look)
      if (look->second.number > number && (look->first.second == part || knows(look->second.by)))
        number = look->second.number;
    for (const Author& a : authors_) {
      if (a.numbers.back() <= number) break;
      auto first = std::upper_bound(a.numbers.begin(), a.numbers.end(), number), last = a.numbers.end();
      auto isKnown = [&](uint64_t n) { return knows(update(n)->by); };
      // Knowing an update of a thread means knowing those before it; transfers have no order.
      if (isTransfer(a.part))
        while (last != first && !isKnown(*(last - 1))) --last;
      else
        last = std::partition_point(first, last, isKnown);
      if (last != first) number = *(last - 1);
    }
    return number;
  }
  // The first update, of this number or a later one, that ends a wait.
  template <class Ends>
  std::optional<Acquired> firstFrom(uint64_t number, Ends ends) const {
    if (number <= before_ && !forgotten_.actor && ends(initial_)) return Acquired{0, 0, before_};
    for (uint64_t n = std::max(number, before_ + 1); n <= newest(); ++n)
      if (const UpdatePoint& u = *update(n); ends(u.value)) return Acquired{std::max(u.chain, firstRelease_), u.end, n};
    return std::nullopt;
  }

  size_t remembered() const { return updates_.size(); }
  // Forgets the older half of the updates. Readers of the current value lose nothing by it.
  void forgetHalf();
  // The last update that was forgotten so; actor 0: none.
  const Stamp& forgotten() const { return forgotten_; }
  // Returns true if a reader that has seen this update may also see one that is forgotten.
  bool isForgotten(uint64_t number) const { return forgotten_.actor && number <= before_; }

 private:
  struct Author {
    uint32_t actor = 0;
    Part part = kEveryThread;
    std::vector<uint64_t> numbers;  // of its updates
  };
  static constexpr size_t kReaders = 512;
  size_t readersLimit_ = kReaders;
  std::vector<Release> releases_;
  std::map<uint64_t, std::optional<ReleaseBlock>> blocks_;
  std::vector<UpdatePoint> updates_;
  std::list<Author> authors_;  // the author of the latest update comes first
  std::map<std::pair<uint32_t, Part>, std::list<Author>::iterator> authorOf_;
  uint64_t firstRelease_ = 0, chain_ = 0;
  uint64_t before_ = 0, value_ = 0, initial_ = 0, lastSeen_ = 0, lastSet_ = 0, sameKindSince_ = 0;
  Stamp seenBy_, forgotten_;

  uint64_t endOfReleases() const { return firstRelease_ + releases_.size(); }
  template <class Body>
  bool any(uint64_t begin, uint64_t end, Body body) const {
    for (uint64_t k = std::max(begin, firstRelease_); k < std::min(end, endOfReleases()); ++k)
      if (body(release(k))) return true;
    return false;
  }
  void comesAfter(const Stamp& by, uint64_t number) {
    if (number < lastSeen_) return;
    lastSeen_ = number;
    seenBy_ = by;
  }
  void forgetUpTo(uint64_t number);
};

struct SignalUpdate {
  Stamp by;
  uint64_t value = 0, number = 0;  // SyncPlace's
};
struct SignalLook {
  Stamp by;
  Compare compare{};
  uint64_t value = 0;
  uint64_t number = 0;  // of the last update when the wait looked
};

// The uses of a signal that a later one may still conflict with. Uses that others stand for are left out whenever the
// number has doubled.
template <class Use>
struct SignalList {
  std::vector<Use> all;
  size_t limit = 8;

  template <class StandsFor>
  void add(Use use, StandsFor standsFor) {
    if (all.size() >= limit) {
      std::erase_if(all, standsFor);
      limit = std::max<size_t>(8, 2 * all.size());
    }
    all.push_back(std::move(use));
  }
};

struct SignalUses {
  SignalList<SignalUpdate> sets, adds;
  SignalList<SignalLook> waits;     // those that have ended
  std::vector<SignalLook> waiting;  // that have not
};

// A map by address, in pages so that a range can be forgotten.
template <class Value>
class ByAddress {
 public:
  Value* find(uint64_t address) {
    if (pages_.empty()) return nullptr;
    auto page = pages_.find(address / kPage);
    if (page == pages_.end()) return nullptr;
    auto it = page->second.find(address);
    return it == page->second.end() ? nullptr : &it->second;
  }
  Value& at(uint64_t address) { return pages_[address / kPage][address]; }
  void forget(uint64_t address, uint64_t bytes, const std::function<void(const Value&)>& told = {}) {
    if (pages_.empty()) return;
    for (uint64_t page = address / kPage; page <= (address + bytes - 1) / kPage; ++page)
      if (auto it = pages_.find(page); it != pages_.end())
        std::erase_if(it->second, [&](const auto& e) {
          bool ends = e.first - address < bytes;
          if (ends && told) told(e.second);
          return ends;
        });
  }
  template <class Body>
  void each(Body body) const {
    for (const auto& [number, page] : pages_)
      for (const auto& [address, value] : page) body(value);
  }

 private:
  static constexpr uint64_t kPage = 4096;
  std::unordered_map<uint64_t, std::unordered_map<uint64_t, Value>> pages_;
};

}  // namespace tandem::interpreter::check
