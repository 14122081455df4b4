// Reports with the place of the instruction, the calls it was inlined through, rank and program.
#include "interpreter/vm/fail.h"
#include <fstream>

namespace tandem::interpreter {

Diagnostic note(std::string message) {
  Diagnostic d;
  d.severity = Severity::Note;
  d.message = std::move(message);
  return d;
}

Diagnostic placeOf(const Program& program, uint32_t location) {
  Diagnostic d;
  d.severity = Severity::Note;
  if (location >= program.locations.size()) return d;
  const Location& l = program.locations[location];
  if (l.file < program.files.size()) d.file = program.files[l.file];
  d.range = l.range;
  size_t depth = 0;
  for (uint32_t at = l.caller; at < program.locations.size() && depth < 64;
       at = program.locations[at].caller, ++depth) {
    Diagnostic call = note("called from here");
    const Location& caller = program.locations[at];
    if (caller.file < program.files.size()) call.file = program.files[caller.file];
    call.range = caller.range;
    d.notes.push_back(std::move(call));
  }
  return d;
}

std::string whoText(int rank, const std::array<int32_t, 3>& id) {
  std::string text = "rank " + std::to_string(rank);
  if (id[0] >= 0)
    text += ", program (" + std::to_string(id[0]) + "," + std::to_string(id[1]) + "," + std::to_string(id[2]) + ")";
  return text;
}

std::string hex(uint64_t value) {
  std::string digits;
  do digits.insert(digits.begin(), "0123456789abcdef"[value & 15]);
  while (value >>= 4);
  return "0x" + digits;
}

std::string hostLineText(const std::string& file, uint32_t line) {
  std::string place = file + ":" + std::to_string(line), text;
  std::ifstream in(file);
  for (uint32_t k = 0; k < line && std::getline(in, text); ++k) {
  }
  return in ? place + "\n    " + text : place;
}

std::string addressText(Machine& m, Address address, uint64_t bytes) {
  Allocation* a = m.arena.find(address);
  if (!a) return "address " + hex(address);
  uint64_t offset = address - a->begin;
  return "`" + a->name + "`[" + std::to_string(offset) + ".." + std::to_string(offset + bytes) + ") of rank " +
         std::to_string(a->rank);
}

static std::string teamText(Machine& m, int team) {
  if (!team) return "all ranks";
  std::string out;
  for (int rank : *m.team(team, 0)) out += (out.empty() ? "the team of ranks " : ", ") + std::to_string(rank);
  return out;
}

std::string notSymmetricText(Machine& m, Address address, int team) {
  address &= ~kStray;
  Allocation* a = m.arena.find(address);
  if (!a) return "address " + hex(address) + " is in no symmetric buffer";
  std::string text = "`" + a->name + "` of rank " + std::to_string(a->rank);
  if (a->freed) return text + " has been freed";
  bool isLocal = a->shared || a->kind != MemoryKind::Symmetric;
  if (!isLocal && a->team != team)
    return text + " is memory of " + teamText(m, a->team) + ", and the kernel runs on " + teamText(m, team);
  return text + (isLocal ? " is local memory" : " is another rank's already");
}

std::vector<Diagnostic> strayNotes(Machine& m, const Run& run, Address address) {
  for (const auto& [location, stray] : run.strays) {
    bool isIt = address & kStray
                    ? (stray.result & kStray) && m.arena.find(stray.from) == m.arena.find(address & ~kStray)
                    : m.arena.following(stray.result) == m.arena.following(address) &&
                          m.arena.nearest(stray.result) == m.arena.nearest(address);
    if (!isIt) continue;
    Diagnostic place = placeOf(*run.prepared->program, location);
    place.message = "this was given an address outside the rank's symmetric buffers";
    return {place};
  }
  return {};
}

static void add(Machine& m, ReportKind kind, std::string message, int rank, const std::array<int32_t, 3>& id,
                const Program* program, uint32_t location, std::vector<Diagnostic> notes) {
  Report r{kind};
  r.message = std::move(message);
  r.rank = rank;
  r.program = id;
  if (program) {
    r.kernel = program->name;
    Diagnostic place = placeOf(*program, location);
    r.file = place.file;
    r.range = place.range;
    r.notes = std::move(place.notes);
  }
  for (Diagnostic& n : notes) r.notes.push_back(std::move(n));
  m.reports.push_back(std::move(r));
  m.failed = true;
}

Step fail(Machine& m, const Run& run, const Prepared& i, ReportKind kind, std::string message,
          std::vector<Diagnostic> notes) {
  add(m, kind, std::move(message), run.rank, run.id, run.prepared->program.get(), i.location, std::move(notes));
  return Step::Failed;
}

bool failAccess(Accessor& who, ReportKind kind, std::string message, std::vector<Diagnostic> notes) {
  if (!who.what.empty()) message = who.what + ": " + message;
  add(who.m, kind, std::move(message), who.rank, who.id, who.program, who.location, std::move(notes));
  return false;
}

}  // namespace tandem::interpreter
