// Each fault says which bytes of which buffer, and what is known of why.
#include "interpreter/memory/access_faults.h"
#include "interpreter/dist/delivery.h"
#include "interpreter/vm/fail.h"
#include "interpreter/vm/pointer_origin.h"

namespace tandem::interpreter {

Diagnostic allocationNote(const Allocation& a) {
  std::string text = "`" + a.name + "` is " + std::to_string(a.end - a.begin) + " bytes of " +
                     (a.shared                          ? "shared memory"
                      : a.kind == MemoryKind::Symmetric ? "symmetric memory"
                                                        : "local memory") +
                     " on rank " + std::to_string(a.rank);
  if (!a.hostFile.empty()) text += ", allocated at " + hostLineText(a.hostFile, a.hostLine);
  return note(text);
}

bool outOfBounds(Accessor& who, Address address, uint64_t bytes, bool write) {
  const char* verb = write ? "write" : "read";
  std::string message = std::string(verb) + " of " + std::to_string(bytes) + " bytes at ";
  int team;
  uint64_t offset;
  std::vector<Diagnostic> stray = who.run ? strayNotes(who.m, *who.run, address) : std::vector<Diagnostic>();
  auto report = [&](const std::string& where, std::vector<Diagnostic> notes = {}) {
    notes.insert(notes.end(), stray.begin(), stray.end());
    return failAccess(who, ReportKind::OutOfBounds, message + where + pointerOrigin(who, write), std::move(notes));
  };
  if (address & kStray)
    return report("a peer's address that there is not: `symm_at` needs a symmetric address, but " +
                  notSymmetricText(who.m, address, who.run ? who.run->team : 0));
  if (address < 4096) return report("null pointer + " + std::to_string(address));
  if (who.m.arena.resolveMulticast(address, &team, &offset))
    return report("a multicast address; only `multimem` operations may use it");
  Allocation* a = who.m.arena.find(address);
  Allocation* after = a ? nullptr : who.m.arena.following(address);
  if (!a) a = who.m.arena.nearest(address);
  if (after && (!a || after->begin - address < address - a->end)) {
    return report(std::to_string(after->begin - address) + " bytes before `" + after->name + "` on rank " +
                      std::to_string(after->rank),
                  {allocationNote(*after)});
  }
  if (!a) return report("address " + hex(address) + ", which is in no buffer");
  int64_t offsetIn = int64_t(address - a->begin);
  return report("byte offset " + std::to_string(offsetIn) + " of `" + a->name + "` on rank " + std::to_string(a->rank) +
                    ", which has " + std::to_string(a->end - a->begin) + " bytes",
                {allocationNote(*a)});
}

bool useAfterFree(Accessor& who, Allocation& a, Address address, uint64_t bytes, bool write) {
  std::vector<Diagnostic> notes{allocationNote(a)};
  if (!a.freedFile.empty()) notes.push_back(note("freed at " + hostLineText(a.freedFile, a.freedLine)));
  return failAccess(who, ReportKind::UseAfterFree,
                    std::string(write ? "write" : "read") + " of " + std::to_string(bytes) + " bytes at byte offset " +
                        std::to_string(address - a.begin) + " of `" + a.name + "` on rank " + std::to_string(a.rank) +
                        ", which has been freed",
                    std::move(notes));
}

// Says how many of the bytes that the host reads, from `first` on, nothing has written, and what to do about it.
static Diagnostic unwrittenNote(const Shadow& shadow, const Allocation& a, Address address, uint64_t bytes,
                                uint64_t first) {
  uint64_t offset = address - a.begin, length = shadow.firstSet(address + first, bytes - first), count = length;
  for (uint64_t at = first + length; at < bytes;) {
    at += shadow.firstUnset(address + at, bytes - at);
    uint64_t more = shadow.firstSet(address + at, bytes - at);
    at += more;
    count += more;
  }
  return note("nothing has written " + std::to_string(count) + " of these " + std::to_string(bytes) +
              " bytes, first [" + std::to_string(offset + first) + ".." + std::to_string(offset + first + length) +
              "); read a slice of what has been written, or fill the memory first (`zeros`, `full`)");
}

bool uninitialised(Accessor& who, Allocation& a, Address address, uint64_t bytes, uint64_t first) {
  uint64_t offset = address - a.begin;
  std::vector<Diagnostic> notes{allocationNote(a)};
  for (auto& put : who.m.pending) {
    if (!brings(*put, address + first) || !put->program) continue;
    notes.push_back(placeOf(*put->program, put->location));
    notes.back().message = "under way: a transfer by " + whoText(put->rank, put->id) +
                           " brings it, and nothing that this read waits for "
                           "says that it is complete (M8, M9, M16)";
    break;
  }
  auto copy = a.unwrittenCopies.upper_bound(address + first);
  if (copy != a.unwrittenCopies.begin() && address + first < (--copy)->second.end && copy->second.program) {
    notes.push_back(placeOf(*copy->second.program, copy->second.location));
    notes.back().message = "this copy put there what nothing had written where it came from";
  }
  if (!who.run && !who.transfer && !who.collective)
    notes.push_back(unwrittenNote(who.m.arena.shadow(), a, address, bytes, first));
  return failAccess(who, ReportKind::UninitialisedRead,
                    "read of `" + a.name + "`[" + std::to_string(offset) + ".." + std::to_string(offset + bytes) +
                        ") on rank " + std::to_string(a.rank) + ", whose byte " + std::to_string(offset + first) +
                        " nothing has written",
                    std::move(notes));
}

}  // namespace tandem::interpreter
