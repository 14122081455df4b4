// Each run shows which steps depend on each other. If two such steps of different tasks were not ordered otherwise, a
// later run tries the second one first. A step that a finished run has tried need not be tried again until a step that
// depends on it has happened.
#include "interpreter/schedule/search.h"
#include <algorithm>

namespace tandem::interpreter {

bool ScheduleSearch::dependent(const Footprint& a, const Footprint& b) {
  for (const SyncAccess& x : a)
    for (const SyncAccess& y : b)
      if (x.begin < y.end && y.begin < x.end && (x.kind != y.kind || x.kind == SyncKind::Write)) return true;
  return false;
}

// Returns true for steps of one task, and for a program's step and its late store: these keep the program's order if they touch the same.
static bool areOfOne(const Transition& a, const Transition& b) {
  auto isOfProgram = [](const Transition& t) {
    return t.kind == Transition::Kind::Program || t.kind == Transition::Kind::Store;
  };
  bool isOneProgram = isOfProgram(a) && isOfProgram(b) && a.launch == b.launch && a.program == b.program;
  return a == b || (isOneProgram && a.rank == b.rank);
}

std::optional<size_t> ScheduleSearch::choose(const std::vector<Transition>& enabled) {
  auto indexOf = [&](const Transition& who) {
    return size_t(std::find(enabled.begin(), enabled.end(), who) - enabled.begin());
  };
  if (depth_ < prefix_) {
    Node& node = trace_[depth_];
    if (node.enabled != enabled) {
      diverged_ = true;
      return std::nullopt;
    }
    ++depth_;
    return indexOf(node.who);
  }
  Node node;
  node.enabled = enabled;
  if (reduction_ && !trace_.empty()) {
    const Node& last = trace_.back();
    for (const auto* covered : {&last.asleep, &last.explored})
      for (const auto& [who, touched] : *covered)
        if (who != last.who && !dependent(touched, last.touched)) node.asleep.insert({who, touched});
  }
  auto first =
      std::find_if(enabled.begin(), enabled.end(), [&](const Transition& t) { return !node.asleep.contains(t); });
  if (first == enabled.end()) {
    redundant_ = true;
    return std::nullopt;
  }
  node.who = *first;
  if (reduction_)
    node.wanted = {node.who};
  else
    node.wanted = {enabled.begin(), enabled.end()};
  trace_.push_back(std::move(node));
  ++depth_;
  return size_t(first - enabled.begin());
}

void ScheduleSearch::did(const SyncAccess& access) {
  if (depth_) trace_[depth_ - 1].touched.push_back(access);
}

void ScheduleSearch::leaves(const Transition& who, const SyncAccess& access) { left_.push_back({who, {access}}); }

int64_t ScheduleSearch::causeOf(size_t step) const {
  const Transition& who = trace_[step].who;
  auto able = [&](size_t k) {
    const auto& enabled = trace_[k].enabled;
    return std::binary_search(enabled.begin(), enabled.end(), who);
  };
  int64_t k = int64_t(step);
  while (k > 0 && trace_[size_t(k - 1)].who != who && able(size_t(k - 1))) --k;
  return k - 1;
}

int64_t ScheduleSearch::issueOf(const Transition& who) const {
  if (who.kind != Transition::Kind::Store || !who.number) return -1;
  Transition program = who;
  program.kind = Transition::Kind::Program;
  program.number = 0;
  return int64_t(stepsOf_.at(program)[who.number - 1]);
}

// Once a step of a task comes after another step, so do the task's later ones.
std::vector<size_t> ScheduleSearch::apartFrom(size_t step, size_t end) const {
  std::vector<size_t> apart;
  for (const auto& [who, steps] : stepsOf_) {
    auto first = std::upper_bound(steps.begin(), steps.end(), step), last = std::lower_bound(first, steps.end(), end);
    apart.insert(apart.end(), first,
                 std::partition_point(first, last, [&](size_t k) { return !earlier_[k].has(step); }));
  }
  std::sort(apart.begin(), apart.end());
  return apart;
}

void ScheduleSearch::reverse(const Event& event, size_t place, const StepSet& before) {
  // Steps that the event's own task needs before it; a transfer and a late store begin at the step that caused them.
  StepSet owed(place);
  bool isIssued = event.who.kind == Transition::Kind::Put || event.who.kind == Transition::Kind::Store;
  int64_t cause = isIssued && place < trace_.size() ? causeOf(place) : -1, issue = issueOf(event.who);
  for (size_t k = place; k-- > 0;) {
    if (trace_[k].who != event.who && cause != int64_t(k) && issue != int64_t(k)) continue;
    owed.add(earlier_[k]);
    owed.add(k);
    if (event.who.kind != Transition::Kind::Store) break;
  }
  owed.eachMissing(place, [&](size_t j) {
    Node& node = trace_[j];
    if (areOfOne(node.who, event.who) || !dependent(node.touched, event.touched)) return;
    // Steps that can happen without step j, up to the event; the first ones are those that none of the others precedes.
    std::vector<size_t> free;
    std::optional<Transition> first;
    bool wanted = false;
    auto consider = [&](const Transition& who, const StepSet& ordered) {
      if (std::any_of(free.begin(), free.end(), [&](size_t k) { return ordered.has(k); })) return;
      if (!std::binary_search(node.enabled.begin(), node.enabled.end(), who)) return;
      wanted = wanted || node.wanted.contains(who);
      if (!first) first = who;
    };
    for (size_t k : apartFrom(j, place)) {
      if (wanted) return;
      consider(trace_[k].who, earlier_[k]);
      free.push_back(k);
    }
    consider(event.who, before);
    if (first && !wanted) node.wanted.insert(*first);
  });
}

void ScheduleSearch::findReversals() {
  auto orderOf = [&](const Event& event, size_t place, int64_t cause) {
    StepSet before(place);
    int64_t issue = issueOf(event.who);
    before.eachMissing(place, [&](size_t j) {
      bool isOwn = trace_[j].who == event.who || cause == int64_t(j) || issue == int64_t(j);
      if (!isOwn && !dependent(trace_[j].touched, event.touched)) return;
      before.add(earlier_[j]);
      before.add(j);
    });
    return before;
  };
  // Up to its last given step, this run is the one before.
  size_t same = std::min(prefix_ ? prefix_ - 1 : 0, earlier_.size());
  earlier_.erase(earlier_.begin() + int64_t(same), earlier_.end());
  stepsOf_.clear();
  for (size_t i = 0; i < trace_.size(); ++i) stepsOf_[trace_[i].who].push_back(i);
  for (size_t i = same; i < trace_.size(); ++i) earlier_.push_back(orderOf(trace_[i], i, causeOf(i)));
  for (size_t i = same; i < trace_.size(); ++i) reverse(trace_[i], i, earlier_[i]);
  for (const Event& event : left_) reverse(event, trace_.size(), orderOf(event, trace_.size(), -1));
}

bool ScheduleSearch::next() {
  if (reduction_) findReversals();
  left_.clear();
  redundant_ = false;
  depth_ = 0;
  for (; !trace_.empty(); trace_.pop_back()) {
    Node& node = trace_.back();
    node.explored.insert({node.who, std::move(node.touched)});
    for (const Transition& who : node.wanted) {
      if (covered(node, who)) continue;
      node.who = who;
      for (Node& kept : trace_) kept.touched.clear();
      prefix_ = trace_.size();
      return true;
    }
  }
  prefix_ = 0;
  return false;
}

std::string ScheduleSearch::schedule() const {
  std::string text;
  size_t kept = 0;
  for (size_t k = 0; k < depth_; ++k) {
    const Node& node = trace_[k];
    if (node.enabled.size() == 1) continue;
    auto index = std::find(node.enabled.begin(), node.enabled.end(), node.who) - node.enabled.begin();
    text += (text.empty() ? "" : ".") + std::to_string(index);
    if (index) kept = text.size();
  }
  text.resize(kept);
  return text.empty() ? "0" : text;
}

}  // namespace tandem::interpreter
