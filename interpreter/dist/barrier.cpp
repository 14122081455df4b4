// barrier, sync and the collectives on members of a team (M12).
#include "interpreter/dist/delivery.h"
#include "interpreter/dist/meeting.h"
#include "interpreter/dist/team.h"
#include "interpreter/vm/branches.h"
#include "interpreter/vm/charge.h"
#include "interpreter/vm/handlers.h"
#include <algorithm>

namespace tandem::interpreter {
namespace {

bool isMember(Machine& m, Run& run, const Prepared& i, const std::vector<int>& members, int id) {
  if (std::find(members.begin(), members.end(), run.rank) != members.end()) return true;
  fail(m, run, i, ReportKind::BadRank,
       "rank " + std::to_string(run.rank) + " is not a member of team " + std::to_string(id));
  return false;
}

void introduce(Collective::Member& member, const Run& run, const Prepared& i) {
  member.location = i.location;
  member.program = run.prepared->program.get();
  member.id = run.id;
}

Accessor onBehalf(Machine& m, const Collective& c, size_t member) {
  const Collective::Member& caller = c.members[member];
  Accessor who(m);
  who.rank = c.ranks[member];
  who.id = caller.id;
  who.program = caller.program;
  who.location = caller.location;
  who.collective = &c;
  who.behalf = static_cast<const Run*>(caller.task);
  who.copies = true;
  return who;
}

// Copies from one member's source to another's dest, each on behalf of its owner.
bool moveBetween(Machine& m, const Collective& c, size_t from, size_t to, uint64_t offset) {
  const Collective::Member &source = c.members[from], &dest = c.members[to];
  if (m.observer) m.observer->copies(c, from, to);
  Accessor reader = onBehalf(m, c, from), writer = onBehalf(m, c, to);
  if (!checkMemory(reader, source.source, source.bytes, 1, false, false)) return false;
  std::vector<uint8_t> bytes(source.bytes);
  m.counters.putBytes += source.bytes;
  if (!readMemory(reader, source.source, bytes.data(), bytes.size(), 1)) return false;
  writer.unwritten = std::move(reader.unwritten);
  return writeMemory(writer, dest.dest + offset, bytes.data(), bytes.size(), 1);
}

// All members that have arrived give one root, one size and one type (M12). Says false after a report.
bool agree(Machine& m, Run& run, const Prepared& i, const Collective& c, bool hasRoot, const char* what) {
  auto text = [&](const Collective::Member& member) {
    return (hasRoot ? "root " + std::to_string(member.root) + " and " : "") + std::to_string(member.bytes) + " bytes" +
           (member.type.empty() ? "" : " of " + member.type);
  };
  const Collective::Member& mine = c.members[c.indexOf(run.rank)];
  std::vector<Diagnostic> notes;
  for (size_t k = 0; k < c.members.size(); ++k) {
    const Collective::Member& other = c.members[k];
    if (!other.arrived) continue;
    if (other.bytes == mine.bytes && other.root == mine.root && other.type == mine.type) continue;
    Diagnostic d = placeOf(*other.program, other.location);
    d.message = whoText(c.ranks[k], other.id) + " is here, with " + text(other);
    notes.push_back(std::move(d));
  }
  if (notes.empty()) return true;
  fail(m, run, i, ReportKind::CollectiveMismatch,
       std::string(what) + " with " + text(mine) +
           ", and other members of the team give others: all give the same (M12)",
       std::move(notes));
  return false;
}

Step waitForOthers(Machine& m, Run& run, Blocked why) {
  run.watched = Watched{};
  run.awaited.clear();
  return stall(m, run, why, Step::Blocked);
}

Step collective(Machine& m, Run& run, const Prepared& i, Op op, const char* what) {
  int id;
  const std::vector<int>* members = teamOperand(m, run, i, i.a, &id);
  if (!members || !isMember(m, run, i, *members, id)) return Step::Failed;
  int64_t began = run.clockNs;
  auto open = [&](Collective& c, Collective::Member& member) {
    introduce(member, run, i);
    member.dest = rawInteger(m, run, i.b, run.firstActiveLane());
    member.source = rawInteger(m, run, i.c, run.firstActiveLane());
    int64_t bytes = integer(m, run, i.operands[3], run.firstActiveLane());
    if (bytes < 0) {
      fail(m, run, i, ReportKind::OutOfBounds, std::string(what) + " of " + std::to_string(bytes) + " bytes");
      return false;
    }
    member.bytes = uint64_t(bytes);
    member.root = op == Op::Broadcastmem ? int(integer(m, run, i.operands[4])) : 0;
    if (i.as<imm::Broadcastmem>().type >= 0)
      member.type = run.prepared->program->strings[size_t(i.as<imm::Broadcastmem>().type)];
    member.ordersAll = i.as<imm::Broadcastmem>().isBarrier != 0;
    return agree(m, run, i, c, op == Op::Broadcastmem, what);
  };
  auto all = [&](Collective& c) {
    if (op == Op::Broadcastmem && (c.members[0].root < 0 || size_t(c.members[0].root) >= c.members.size())) {
      fail(m, run, i, ReportKind::BadRank,
           std::string(what) + " from root " + std::to_string(c.members[0].root) + " of a team of " +
               std::to_string(c.members.size()));
      return;
    }
    for (size_t to = 0; to < c.members.size(); ++to) {
      if (op == Op::Broadcastmem) {
        if (!moveBetween(m, c, size_t(c.members[0].root), to, 0)) return;
        continue;
      }
      for (size_t from = 0; from < c.members.size(); ++from)
        if (!moveBetween(m, c, from, to, from * c.members[0].bytes)) return;
    }
  };
  if (!checkOneGroup(m, run, i, Group(i.as<imm::Broadcastmem>().group), what)) return Step::Failed;
  bool done = meet(m, run, id, false, *members, op, open, all);
  if (m.failed) return Step::Failed;
  if (!done) return waitForOthers(m, run, Blocked::Collective);
  span(m, run, SpanKind::Barrier, began, run.clockNs, what, i.location);
  return Step::Next;
}

}  // namespace

namespace handlers {

Step barrier(Machine& m, Run& run, const Prepared& i) {
  int id;
  bool syncOnly = i.as<imm::Barrier>().syncOnly != 0;
  if (!checkOneGroup(m, run, i, Group(i.as<imm::Barrier>().group), syncOnly ? "`sync`" : "`barrier`"))
    return Step::Failed;
  const std::vector<int>* members = teamOperand(m, run, i, i.a, &id);
  if (!members || !isMember(m, run, i, *members, id)) return Step::Failed;
  if (!run.collective && !syncOnly) {
    if (!quietPuts(m, run, -1)) return Step::Failed;
    if (m.observer) m.observer->quiet(run, -1);
  }
  int64_t began = run.clockNs;
  bool done = meet(
      m, run, id, false, *members, Op::Barrier,
      [&](Collective&, Collective::Member& member) {
        introduce(member, run, i);
        return member.ordersAll = true;
      },
      [](Collective&) {});
  if (m.failed) return Step::Failed;
  if (!done) return waitForOthers(m, run, Blocked::Barrier);
  span(m, run, SpanKind::Barrier, began, run.clockNs, "barrier", i.location);
  return Step::Next;
}

Step broadcastmem(Machine& m, Run& run, const Prepared& i) {
  return collective(m, run, i, Op::Broadcastmem, "`broadcast`");
}
Step fcollect(Machine& m, Run& run, const Prepared& i) { return collective(m, run, i, Op::Fcollect, "`fcollect`"); }

}  // namespace handlers
}  // namespace tandem::interpreter
