// This file says why a rank's waits ended: it turns the device's note, or the wait that holds a stream, into a report
// for all ranks.
#include "base/meaning.h"
#include "runtime/ranks/rank.h"
#include <charconv>
#include <cstdio>

namespace tandem::runtime::ranks {
namespace {

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// The number behind the last colon, which goes away with it.
uint32_t takeNumber(std::string& text) {
  uint32_t value = 0;
  size_t colon = text.rfind(':');
  if (colon == std::string::npos) return 0;
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), value);
  text.resize(colon);
  return value;
}

std::string placeOf(const RunReport& r) {
  return r.file.empty() ? "" : r.file + ":" + std::to_string(r.line) + ":" + std::to_string(r.column) + ": ";
}

std::string programText(const RunReport& r) {
  return "program (" + std::to_string(r.program[0]) + ", " + std::to_string(r.program[1]) + ", " +
         std::to_string(r.program[2]) + ")";
}

const char* collectiveWord(uint64_t kind) {
  return kind == TANDEM_DIST_BARRIER ? "a barrier" : kind == TANDEM_DIST_BROADCAST ? "a broadcast" : "an fcollect";
}

}  // namespace

// Reads byte by byte: the driver refuses a copy that goes beyond the constant's memory.
std::string Rank::readText(Address at, size_t most) const {
  BesideCapture beside(*device_);
  std::string out;
  Stream aside = open_->streams.aside();
  for (char c = 1; out.size() < most; out += c) {
    try {
      device_->copyToHost(aside, &c, at + out.size(), 1);
      device_->synchronize(aside);
    } catch (const std::runtime_error&) {
      break;
    }
    if (!c) break;
  }
  return out;
}

std::string Rank::signalText(Address signal) const {
  if (std::optional<TeamWord> word = open_->context.wordAt(signal))
    return "rank " + std::to_string(word->member) +
           (word->ofKernels ? "'s count of barriers" : "'s flag of a barrier") + " of team " +
           std::to_string(word->team) + (word->ofKernels ? "" : " on streams");
  MeaningText meaning = meaningOf(signal);
  const SymmetricHeap* heap = heapAt(signal);
  return (heap ? "the signal at offset " + hex(signal - heap->base()) + " of the symmetric heap"
               : "the signal at address " + hex(signal)) +
         (meaning.words.empty() ? "" : " (`" + meaning.owner + "`: " + meaning.words + ")");
}

// The other rank's size is in its own report.
std::string Rank::unlikeText(const tandem_dist_watch& w) const {
  uint64_t mine = uint64_t(w.compare - TANDEM_DIST_UNLIKE), theirs = w.seen & ((1 << TANDEM_DIST_KIND_BITS) - 1);
  std::string own = collectiveWord(mine);
  if (mine != TANDEM_DIST_BARRIER) own += " of " + std::to_string(w.expected) + " bytes";
  std::string other = theirs == mine ? "one of another size or root" : collectiveWord(theirs);
  TeamWord word = open_->context.wordAt(w.signal).value_or(TeamWord());
  return "calls " + own + " of team " + std::to_string(word.team) + ", where rank " + std::to_string(word.member) +
         " calls " + other + ": all members make the same calls in one order (M12)";
}

RunReport Rank::describeWait() const {
  constexpr size_t longest = 400;
  const tandem_dist_watch& w = open_->watch.words();
  RunReport r;
  r.rank = me();
  for (size_t i = 0; i < 3; ++i) r.program[i] = w.program[i];
  if (Address place = Address(reinterpret_cast<uintptr_t>(w.place))) {
    r.file = readText(place, longest);
    r.kernel = readText(place + r.file.size() + 1, longest);
    r.column = takeNumber(r.file);
    r.line = takeNumber(r.file);
  }
  std::string who =
      "rank " + std::to_string(me()) + ", " + programText(r) + (r.kernel.empty() ? "" : " of `" + r.kernel + "`");
  auto error = [&](ReportKind kind, const std::string& message) {
    r.kind = wordOf(kind);
    r.message = who + ": " + message;
    r.text = placeOf(r) + "error: " + r.message + " [" + r.kind + "]\n";
    return r;
  };
  if (w.compare == TANDEM_DIST_UNMAPPED_PEER)
    return error(ReportKind::UnmappedPeer, "rank " + std::to_string(int64_t(w.expected)) +
                                               "'s memory is not mapped here, so `symm_at` has no address for it");
  if (w.compare >= TANDEM_DIST_UNLIKE) return error(ReportKind::CollectiveMismatch, unlikeText(w));
  std::string signal = signalText(w.signal), expected = std::to_string(int64_t(w.expected)),
              seen = std::to_string(int64_t(w.seen));
  if (std::optional<TeamWord> word = open_->context.wordAt(w.signal); word && word->ofKernels) {
    expected = std::to_string(w.expected >> TANDEM_DIST_MARK_BITS);
    seen = std::to_string(w.seen >> TANDEM_DIST_MARK_BITS);
  }
  const char* compare = wordOf(Compare(w.compare));
  return error(ReportKind::WaitTimeout,
               "gave up waiting for " + signal + " to be " + compare + " " + expected + "; it is " + seen);
}

void Rank::reportGivenUpWait() {
  meeting_.awaitComparison();
  meeting_.stop(describeWait());
}

void Rank::reportHeldStream() {
  for (StreamId id = 0; id < open_->streams.count(); ++id) {
    std::optional<StreamWait> held = open_->waits.heldFor(id, std::chrono::milliseconds(options_.waitTimeoutMs));
    if (!held) continue;
    meeting_.awaitComparison();
    BesideCapture beside(*device_);
    uint64_t seen = 0;
    device_->copyToHost(open_->streams.aside(), &seen, held->signal, uint64_t(held->bytes));
    device_->synchronize(open_->streams.aside());
    if (held->bytes == 4) seen = uint64_t(int64_t(int32_t(seen)));
    return meeting_.stop(reportOf(
        ReportKind::WaitTimeout, me(),
        "rank " + std::to_string(me()) + ": stream " + std::to_string(id) + " gave up waiting for " +
            signalText(held->signal) + " to be " + wordOf(held->compare) + " " + std::to_string(int64_t(held->value)) +
            " after " + std::to_string(options_.waitTimeoutMs) + " ms; it is " + std::to_string(int64_t(seen))));
  }
}

}  // namespace tandem::runtime::ranks
