// The kinds of reports of a run: one row each, which the simulator, the runtime on GPUs, the C ABI, Python and the
// pages read.
#pragma once
#include "base/diagnostic.h"
#include <string_view>

namespace tandem {

// Reports of a run are told by group in this order, and within a group as they were found. A kind of the group Run is
// no fault of kernels' accesses: something outside of them ended the run.
enum class ReportGroup : uint8_t { Run, Memory, Order, Leftover, Scope, Portability };

// X(name, word, group, severity, rules of the memory model that its messages name, what it is). The words are stable.
// clang-format off
#define TANDEM_REPORT_KINDS(X) \
  X(Exception, "exception", Run, Error, "", "What the script itself raised") \
  X(Interrupted, "interrupted", Run, Error, "", "The user has interrupted the run") \
  X(RankFailed, "rank-failed", Run, Error, "", "The host code of a rank has failed") \
  X(RankGone, "rank-gone", Run, Error, "", "The process of a rank has ended without a word") \
  X(RankLeft, "rank-left", Run, Error, "", "A rank has finished while others wait for it") \
  X(Rendezvous, "rendezvous", Run, Error, "", "The ranks' processes cannot meet") \
  X(Trace, "trace", Run, Warning, "", "The trace of a rank is incomplete") \
  X(UnmappedPeer, "unmapped-peer", Run, Error, "", "An address of a rank whose memory is not mapped here") \
  X(WaitTimeout, "wait-timeout", Run, Error, "", "A wait on a GPU that has lasted longer than it may") \
  X(OutOfBounds, "out-of-bounds", Memory, Error, "", "An access outside of every live buffer") \
  X(UseAfterFree, "use-after-free", Memory, Error, "M2", \
    "An access to a buffer that has been freed, or whose end it is not ordered before") \
  X(Misaligned, "misaligned", Memory, Error, "", "An address or a size that is no multiple of what the access needs") \
  X(UninitialisedRead, "uninitialised-read", Memory, Error, "M8 M9 M16", "A read of bytes that nothing has written") \
  X(DoubleFree, "double-free", Memory, Error, "", "A buffer that is freed twice") \
  X(InvalidFree, "invalid-free", Memory, Error, "", "An address is freed that no allocation gave") \
  X(BadRank, "bad-rank", Memory, Error, "", \
    "A rank or a team that does not exist, or one that the caller is no member of") \
  X(IndexOutOfRange, "index-out-of-range", Memory, Error, "", \
    "An index outside of a tile, or of a buffer in shared memory") \
  X(AsymmetricAllocation, "asymmetric-allocation", Memory, Error, "", \
    "A symmetric allocation with another size on another rank") \
  X(OutOfMemory, "out-of-memory", Memory, Error, "", "A heap or a program's shared memory is full") \
  X(DivergentBlockOperation, "divergent-block-operation", Memory, Error, "", \
    "Only some threads of a program, or threads with different operands, make a call of all threads") \
  X(NonUniformWarpOperation, "non-uniform-warp-operation", Memory, Error, "", \
    "Only some threads of a warp, or threads with different operands, make a call of the whole warp") \
  X(MbarrierMisuse, "mbarrier-misuse", Memory, Error, "", \
    "An mbarrier that is used before it is initialised, or otherwise than it allows") \
  X(BadTensorMap, "bad-tensor-map", Memory, Error, "", "A tensor map that a copy cannot use") \
  X(Unsupported, "unsupported", Memory, Error, "", "An operation that the simulator does not have for these types") \
  X(Assertion, "assertion", Memory, Error, "", "An assertion of a kernel that does not hold") \
  X(AssumeViolated, "assume-violated", Memory, Error, "", "An assumption of a kernel that does not hold") \
  X(Race, "race", Order, Error, "M1 M3 M4 M5 M6 M7 M8 M9 M11 M12 M13 M14 M15 M16", \
    "Two accesses that the memory model does not order") \
  X(SignalMisuse, "signal-misuse", Order, Error, "M11 M15", \
    "A signal update that may come too early or too late") \
  X(CollectiveMismatch, "collective-mismatch", Order, Error, "M12", \
    "A collective whose members give different roots or sizes") \
  X(HistoryExceeded, "history-exceeded", Order, Error, "M6", \
    "A wait that may need an update which the run no longer remembers") \
  X(Deadlock, "deadlock", Order, Error, "", "Ranks that wait for what cannot happen") \
  X(Livelock, "livelock", Order, Error, "", "Programs that loop for ever while nothing changes") \
  X(LimitExceeded, "limit-exceeded", Order, Error, "", "A run that goes on longer than it may") \
  X(DivisionByZero, "division-by-zero", Leftover, Warning, "", \
    "A quotient or a remainder by zero that the kernel may use") \
  X(UnfinishedPut, "unfinished-put", Leftover, Warning, "", \
    "A non-blocking transfer with neither `fence` nor `quiet` before its program's end") \
  X(UnfinishedBulkCopy, "unfinished-bulk-copy", Leftover, Error, "", \
    "A bulk copy that nobody has waited for when its program ends") \
  X(LeftoverSignal, "leftover-signal", Leftover, Warning, "M15", \
    "A signal that is set at the end of the run and that nobody had to wait for") \
  X(ScheduleDependent, "schedule-dependent", Leftover, Error, "", "Results that depend on the schedule") \
  X(Scope, "scope", Scope, Error, "M14", "An access or a fence whose scope leaves another rank out") \
  X(Portability, "portability", Portability, Warning, "M1 M14", \
    "Right in Tandem's memory model, but not promised elsewhere")
// clang-format on

enum class ReportKind : uint8_t {
#define TANDEM_ROW(name, ...) name,
  TANDEM_REPORT_KINDS(TANDEM_ROW)
#undef TANDEM_ROW
};

struct ReportKindRow {
  ReportKind kind;
  std::string_view word;
  ReportGroup group;
  Severity severity;
  std::string_view rules;  // "M4 M6"; empty: none
  std::string_view what;
};
inline constexpr ReportKindRow kReportKinds[] = {
#define TANDEM_ROW(name, word, group, severity, rules, what) \
  {ReportKind::name, word, ReportGroup::group, Severity::severity, rules, what},
    TANDEM_REPORT_KINDS(TANDEM_ROW)
#undef TANDEM_ROW
};

constexpr const ReportKindRow& rowOf(ReportKind kind) { return kReportKinds[size_t(kind)]; }
inline std::string wordOf(ReportKind kind) { return std::string(rowOf(kind).word); }

}  // namespace tandem
