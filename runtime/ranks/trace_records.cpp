// This file joins chunks to writers and writers to slots. A program's own time is the time between its waits and
// transfers.
#include "runtime/ranks/trace_records.h"
#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <queue>
#include <sstream>
#include <tuple>

namespace tandem::runtime::ranks {
namespace {

using interpreter::Span;
using interpreter::SpanKind;

enum Role : uint16_t { kWhole, kConsumers, kProducer, kSignaller };

struct Writer {
  tandem_trace_chunk head{};
  std::vector<tandem_trace_record> records;
  const TraceKernel* kernel = nullptr;
  int32_t slot = -1;

  bool speaksForProgram() const { return head.role <= kConsumers && head.warp == 0; }
  uint64_t begin() const { return records.front().time_ns; }
  uint64_t end() const { return records.back().time_ns; }
  auto program() const { return std::tuple(head.sites, head.program[0], head.program[1], head.program[2]); }
};

SpanKind kindOf(const std::string& word) {
  static const std::map<std::string, SpanKind> kinds = {{"wait", SpanKind::Wait},     {"barrier", SpanKind::Barrier},
                                                        {"put", SpanKind::Put},       {"get", SpanKind::Get},
                                                        {"signal", SpanKind::Signal}, {"store", SpanKind::Store}};
  auto found = kinds.find(word);
  return found == kinds.end() ? SpanKind::Compute : found->second;
}

void readRecords(const TraceChunk& chunk, Writer& writer) {
  for (size_t at = sizeof(tandem_trace_chunk); at < chunk.size(); at += sizeof(tandem_trace_record)) {
    tandem_trace_record r;
    std::memcpy(&r, &chunk[at], sizeof r);
    if (!r.time_ns || r.site / 2 >= writer.kernel->sites.size()) return;
    writer.records.push_back(r);
  }
}

// A chunk that none continues begins a writer; the others are found by where the one before them ends.
std::vector<Writer> writersOf(std::span<const TraceChunk> chunks, uint64_t base,
                              const std::function<const TraceKernel&(uint64_t)>& kernelAt) {
  auto headOf = [&](size_t i) {
    tandem_trace_chunk head;
    std::memcpy(&head, chunks[i].data(), sizeof head);
    return head;
  };
  std::map<uint64_t, size_t> after;  // by the end of the chunk before
  for (size_t i = 0; i < chunks.size(); ++i)
    if (uint64_t previous = headOf(i).previous) after.emplace(previous, i);
  std::vector<Writer> out;
  for (size_t first = 0; first < chunks.size(); ++first) {
    Writer writer;
    writer.head = headOf(first);
    if (writer.head.previous || !writer.head.sites) continue;
    writer.kernel = &kernelAt(writer.head.sites);
    for (size_t i = first;;) {
      readRecords(chunks[i], writer);
      auto next = after.find(base + (i + 1) * sizeof(TraceChunk));
      if (next == after.end()) break;
      i = next->second;
      after.erase(next);
    }
    if (!writer.records.empty()) out.push_back(std::move(writer));
  }
  std::sort(out.begin(), out.end(), [](const Writer& a, const Writer& b) { return a.begin() < b.begin(); });
  return out;
}

// Programs take slots first; other writers take the slot of their program.
void giveSlots(std::vector<Writer>& writers) {
  using Until = std::pair<uint64_t, int32_t>;
  std::priority_queue<Until, std::vector<Until>, std::greater<>> busy;
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> free;
  std::multimap<decltype(writers[0].program()), const Writer*> programs;
  int32_t slots = 0;
  for (Writer& w : writers) {
    if (!w.speaksForProgram()) continue;
    for (; !busy.empty() && busy.top().first <= w.begin(); busy.pop()) free.push(busy.top().second);
    w.slot = free.empty() ? slots++ : free.top();
    if (!free.empty()) free.pop();
    busy.emplace(w.end(), w.slot);
    programs.emplace(w.program(), &w);
  }
  for (Writer& w : writers) {
    if (w.speaksForProgram()) continue;
    auto [begin, end] = programs.equal_range(w.program());
    for (auto p = begin; p != end; ++p)
      if (p->second->begin() <= w.begin() && w.begin() <= p->second->end()) w.slot = p->second->slot;
    if (w.slot < 0) w.slot = slots++;
  }
}

int32_t laneOf(const Writer& w) {
  if (w.speaksForProgram()) return w.slot;
  int32_t part = w.head.role == kProducer    ? interpreter::kProducerPart
                 : w.head.role == kSignaller ? interpreter::kSignallerPart
                                             : interpreter::kWarpParts + w.head.warp;
  return interpreter::kPartLanes + w.slot * interpreter::kPartsOfSlot + part;
}

// The spans of one writer, in one walk over its records.
class Walk {
 public:
  Walk(const Writer& writer, std::vector<Span>& out) : w_(writer), out_(out), lane_(laneOf(writer)) {}

  void run() {
    sinceNs_ = int64_t(w_.begin());
    for (const tandem_trace_record& r : w_.records) (r.site % 2 ? end(r) : begin(r));
    // Records of a program's end may be lost.
    while (!open_.empty()) end({w_.end(), open_.back().site + 1, -1});
    own(int64_t(w_.end()), 0);
  }

 private:
  void begin(const tandem_trace_record& r) {
    const TraceSite& site = w_.kernel->sites[r.site / 2];
    if (site.kind == "signal") return add(SpanKind::Signal, placeOf(site), r, int64_t(r.time_ns), r.value);
    if (site.kind != "kernel") own(int64_t(r.time_ns), site.kind == "tile" ? site.line : 0);
    open_.push_back(r);
    if (site.kind == "tile") tile_ = r.value < 0 ? "tile" : "tile " + std::to_string(r.value);
  }

  void end(const tandem_trace_record& r) {
    while (!open_.empty() && open_.back().site + 1 != r.site) open_.pop_back();
    if (open_.empty()) return;
    tandem_trace_record began = open_.back();
    open_.pop_back();
    const TraceSite& site = w_.kernel->sites[r.site / 2];
    if (site.kind == "kernel" || site.kind == "tile") {
      own(int64_t(r.time_ns), site.line);
      if (site.kind == "tile") tile_.clear();
      return;
    }
    add(kindOf(site.kind), placeOf(site), began, int64_t(r.time_ns), began.value);
    sinceNs_ = int64_t(r.time_ns);
  }

  // Adds the span of the writer's own work since the last wait or transfer. The signaller has none: it only waits for
  // others then.
  void own(int64_t untilNs, uint32_t line) {
    bool loads = w_.head.role == kProducer, tells = loads ? !tile_.empty() : w_.speaksForProgram();
    if (tells && untilNs > sinceNs_) {
      Span s = made(loads ? SpanKind::Load : SpanKind::Compute,
                    loads ? tile_ : w_.kernel->name + (tile_.empty() ? "" : " " + tile_), sinceNs_, untilNs);
      s.line = line;
      out_.push_back(std::move(s));
    }
    sinceNs_ = std::max(sinceNs_, untilNs);
  }

  void add(SpanKind kind, const std::string& name, const tandem_trace_record& began, int64_t endNs, int32_t peer) {
    Span s = made(kind, name, int64_t(began.time_ns), endNs);
    s.line = w_.kernel->sites[began.site / 2].line;
    if (kind == SpanKind::Put || kind == SpanKind::Get || kind == SpanKind::Signal) s.peer = peer;
    out_.push_back(std::move(s));
  }

  Span made(SpanKind kind, std::string name, int64_t beginNs, int64_t endNs) const {
    Span s;
    s.lane = lane_;
    s.kind = kind;
    s.beginNs = beginNs;
    s.endNs = endNs;
    s.name = std::move(name);
    s.program = {w_.head.program[0], w_.head.program[1], w_.head.program[2]};
    return s;
  }

  static std::string placeOf(const TraceSite& site) {
    return site.file.substr(site.file.rfind('/') + 1) + ":" + std::to_string(site.line);
  }

  const Writer& w_;
  std::vector<Span>& out_;
  int32_t lane_;
  int64_t sinceNs_ = 0;
  std::string tile_;
  std::vector<tandem_trace_record> open_;
};

}  // namespace

TraceKernel readSites(const std::string& text) {
  TraceKernel out;
  std::istringstream in(text);
  std::getline(in, out.name);
  for (std::string line; std::getline(in, line);) {
    TraceSite site;
    size_t space = line.find(' '), column = line.rfind(':'), row = column ? line.rfind(':', column - 1) : column;
    if (space == std::string::npos || column == std::string::npos || row == std::string::npos || row < space) break;
    site.kind = line.substr(0, space);
    site.file = line.substr(space + 1, row - space - 1);
    std::from_chars(line.data() + row + 1, line.data() + column, site.line);
    out.sites.push_back(std::move(site));
  }
  return out;
}

std::vector<Span> spansOf(std::span<const TraceChunk> chunks, uint64_t base,
                          const std::function<const TraceKernel&(uint64_t)>& kernelAt) {
  std::vector<Writer> writers = writersOf(chunks, base, kernelAt);
  giveSlots(writers);
  std::vector<Span> out;
  for (const Writer& w : writers) Walk(w, out).run();
  return out;
}

}  // namespace tandem::runtime::ranks
