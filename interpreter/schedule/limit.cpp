// The limits of a run, and the report of one that went past them: where each program and stream stands, each line once.
#include "interpreter/schedule/scheduler.h"
#include "interpreter/schedule/waiter_note.h"
#include "interpreter/vm/fail.h"
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace tandem::interpreter {
namespace {

std::string counted(size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string ranksText(const std::set<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (int rank : ranks) text += (rank == *ranks.begin() ? "" : ", ") + std::to_string(rank);
  return text;
}

std::string secondsText(double seconds) {
  std::string text = std::to_string(seconds);
  text.erase(text.find_last_not_of('0') + 1);
  return text.back() == '.' ? text.substr(0, text.size() - 1) : text;
}

// The tasks at one line.
struct Standing {
  Diagnostic first;
  size_t count = 0;
  std::set<int> ranks;
};

}  // namespace

bool World::Impl::isOverLimit(bool looksAtClock) const {
  const WorldOptions& o = m.options;
  if (o.maxSteps && m.counters.instructions + m.counters.switches + hostSteps >= o.maxSteps) return true;
  return looksAtClock && o.maxSeconds > 0 &&
         std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() >= o.maxSeconds;
}

void World::reportLimit(const std::vector<std::string>& hostNotes) {
  Machine& m = impl_->m;
  std::vector<Task*> tasks(m.blockedTasks.begin(), m.blockedTasks.end());
  tasks.insert(tasks.end(), m.runnable.begin(), m.runnable.end());
  std::sort(tasks.begin(), tasks.end(), before);
  std::map<std::tuple<bool, std::string, uint32_t>, Standing> lines;
  for (Task* t : tasks) {
    Diagnostic d = waiterNote(m, *t);
    Standing& here = lines[{t->isStream, d.file ? d.file->name : "", d.range.line}];
    if (!here.count++) here.first = std::move(d);
    here.ranks.insert(t->rank);
  }
  bool bySteps = impl_->isOverLimit(false);
  Report r{ReportKind::LimitExceeded};
  r.message =
      "limit-exceeded: the run is not over after " + (bySteps ? counted(m.options.maxSteps, "step") + " (`max_steps`)"
                                                              : secondsText(m.options.maxSeconds) + " s (`timeout`)");
  for (auto& [where, standing] : lines) {
    std::string& text = standing.first.message;
    text = standing.count == 1 ? text + " is here"
                               : counted(standing.count, std::get<bool>(where) ? "stream" : "program") + " of " +
                                     ranksText(standing.ranks) + " are here; the first: " + text;
    r.notes.push_back(std::move(standing.first));
  }
  for (const std::string& h : hostNotes) r.notes.push_back(note(h));
  m.reports.push_back(std::move(r));
  m.failed = true;
}

}  // namespace tandem::interpreter
