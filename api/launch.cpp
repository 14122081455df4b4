// Runs a program on N ranks, one host thread each.
#include "api/reports.h"
#include "tandem/team.h"
#include <mutex>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

namespace tandem {
namespace {

using nlohmann::json;

class Failures {
 public:
  void add(std::exception_ptr failure) {
    std::lock_guard lock(mutex_);
    if (!first_) first_ = failure;
  }
  std::exception_ptr first() const { return first_; }

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

void check(td_session* session, int status) {
  if (!status) return;
  std::string why = td_last_error();
  throwErrors(reportsOf(session));
  throw Error(why);
}

void hostThread(td_session* session, int rank, int size, const std::function<void(Team&)>& main, Failures& failures) {
  try {
    check(session, td_enter(session, rank));
    Team team(session, rank, size);
    main(team);
    check(session, td_leave(session, rank));
  } catch (const std::exception& e) {
    failures.add(std::current_exception());
    td_abort(session, rank, e.what());
  } catch (...) {
    failures.add(std::current_exception());
    td_abort(session, rank, "unknown exception");
  }
}

json sessionOptions(const RunOptions& o) {
  if (o.target == "sim")
    return {
        {"ranks", o.ranks}, {"seed", o.seed},          {"trace", o.trace},           {"slots_per_rank", o.slotsPerRank},
        {"check", o.check}, {"max_steps", o.maxSteps}, {"timeout", o.timeoutSeconds}};
  if (o.check) throw Error("`check` is the simulator's: only a simulated run has it");
  json options = {
      {"target", o.target}, {"ranks", o.ranks}, {"devices", o.devices}, {"wait_timeout_ms", o.waitTimeoutMs}};
  if (o.trace) options["trace"] = true;
  return options;
}

RunReport describe(td_session* session, const json& reports, const RunOptions& options) {
  RunReport out;
  for (auto& r : reports) out.warnings.push_back(r["text"]);
  char* text = nullptr;
  if (options.target == "sim") {
    int status = td_counters(session, &text);
    out.counters = takeText(status, text);
  }
  if (options.trace) {
    int status = td_timeline(session, 80, &text);
    out.timeline = takeText(status, text);
    status = td_chrome_trace(session, &text);
    out.chromeTrace = takeText(status, text);
  }
  return out;
}

}  // namespace

RunReport launch(const std::function<void(Team&)>& main, const RunOptions& options) {
  td_session* raw = nullptr;
  if (td_session_create(sessionOptions(options).dump().c_str(), &raw)) throw Error(td_last_error());
  std::unique_ptr<td_session, void (*)(td_session*)> session(raw, td_session_destroy);
  Failures failures;
  std::vector<std::thread> threads;
  try {
    while (int(threads.size()) < options.ranks)
      threads.emplace_back(hostThread, raw, int(threads.size()), options.ranks, std::cref(main), std::ref(failures));
  } catch (const std::system_error& e) {
    std::string rank = std::to_string(threads.size()), why = "cannot start a thread for rank " + rank + ": " + e.what();
    failures.add(std::make_exception_ptr(Error(why)));
    td_abort(raw, int(threads.size()), why.c_str());
    td_interrupt(raw);  // ranks on GPUs that wait for one that has never entered
  }
  for (std::thread& t : threads) t.join();
  if (failures.first()) {
    // On GPUs a rank that fails is a report too, which the others' calls throw; they do so after it.
    if (options.target == "sim") throwErrors(reportsOf(raw));
    std::rethrow_exception(failures.first());
  }
  if (td_finish(raw)) throw Error(td_last_error());
  json reports = reportsOf(raw);
  throwErrors(reports);
  return describe(raw, reports, options);
}

}  // namespace tandem
