// Reads the options of a session: simulated ranks or GPUs.
#include "api/session_options.h"
#include "interpreter/schedule/choice.h"
#include "runtime/backend/cuda/ranks/session.h"
#include "runtime/backend/sim/session.h"
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

namespace tandem {
namespace {

using nlohmann::json;

interpreter::SchedulePolicy policyOf(const std::string& word) {
  static const char* const words[] = {"random", "round-robin", "priority", "slowest-rank"};
  for (size_t k = 0; k < std::size(words); ++k)
    if (word == words[k]) return interpreter::SchedulePolicy(k);
  throw std::runtime_error("`policy` is `" + word + "`; it is one of random, round-robin, priority, slowest-rank");
}

template <class T>
T read(const json& value);
template <>
bool read(const json& value) {
  if (!value.is_boolean()) throw std::runtime_error("true or false is needed");
  return value.get<bool>();
}
template <>
std::string read(const json& value) {
  if (!value.is_string()) throw std::runtime_error("a text is needed");
  return value.get<std::string>();
}
template <>
uint64_t read(const json& value) {
  if (!value.is_number_unsigned()) throw std::runtime_error("an integer from 0 is needed");
  return value.get<uint64_t>();
}
template <>
double read(const json& value) {
  if (!value.is_number() || value.get<double>() < 0) throw std::runtime_error("a number from 0 is needed");
  return value.get<double>();
}
template <>
int read(const json& value) {
  if (!value.is_number_integer()) throw std::runtime_error("an integer is needed");
  return int(
      std::clamp<int64_t>(value.get<int64_t>(), std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}
template <>
std::vector<int> read(const json& value) {
  if (!value.is_array()) throw std::runtime_error("a list of integers is needed");
  std::vector<int> out;
  for (const json& one : value) out.push_back(read<int>(one));
  return out;
}

// A session's options by name; an option that nobody takes is refused.
class Options {
 public:
  explicit Options(const std::string& text) : left_(json::parse(text)) {
    if (!left_.is_object()) throw std::runtime_error("the options are " + left_.dump() + ", an object is needed");
  }
  bool has(const char* name) const { return left_.contains(name); }
  template <class T>
  T take(const char* name, T otherwise) {
    auto at = left_.find(name);
    if (at == left_.end()) return otherwise;
    json value = std::move(*at);
    left_.erase(at);
    try {
      return read<T>(value);
    } catch (const std::runtime_error& e) {
      throw std::runtime_error(std::string("`") + name + "` is " + value.dump() + ", " + e.what());
    }
  }
  void finish(const std::string& target) const {
    if (!left_.empty())
      throw std::runtime_error("a session of `" + target + "` has no option `" + left_.begin().key() + "`");
  }

 private:
  json left_;
};

int rankCountOf(Options& o) {
  int ranks = o.take("ranks", 1);
  if (ranks < 1 || ranks > 1024) throw std::runtime_error("`ranks` must be 1 to 1024, not " + std::to_string(ranks));
  return ranks;
}

std::unique_ptr<runtime::Session> simulated(Options& o, std::shared_ptr<interpreter::Chooser> chooser) {
  interpreter::WorldOptions w;
  w.rankCount = rankCountOf(o);
  w.seed = o.take("seed", uint64_t(0));
  w.trace = o.take("trace", false);
  w.check = o.take("check", false);
  w.scope = o.take("scope", true);
  w.portability = o.take("portability", false);
  w.policy = policyOf(o.take<std::string>("policy", "random"));
  w.logStores = o.take("log_stores", false);
  w.slotsPerRank = o.take("slots_per_rank", w.slotsPerRank);
  if (w.slotsPerRank < 1) throw std::runtime_error("`slots_per_rank` must be at least 1");
  w.maxSteps = o.take("max_steps", w.maxSteps);
  w.maxSeconds = o.take("timeout", w.maxSeconds);
  if (o.has("machine")) w.machine = model::machineFrom(o.take<std::string>("machine", ""));
  if (!chooser && o.has("schedule"))
    chooser = std::make_shared<interpreter::ForcedSchedule>(o.take<std::string>("schedule", ""));
  o.finish("sim");
  w.chooser = std::move(chooser);
  return std::make_unique<runtime::sim::Session>(w);
}

std::unique_ptr<runtime::Session> onGpus(Options& o) {
  runtime::cuda::RanksOptions r;
  r.ranks = rankCountOf(o);
  r.rank = o.take("rank", r.rank);
  r.rendezvous = o.take("rendezvous", r.rendezvous);
  r.devices = o.take("devices", r.devices);
  r.waitTimeoutMs = o.take("wait_timeout_ms", r.waitTimeoutMs);
  r.trace = o.take("trace", !traceFile().empty());
  const char* asked = std::getenv("TANDEM_TRANSPORT");
  r.transport = runtime::cuda::transportOf(o.take<std::string>("transport", asked && *asked ? asked : "auto"));
  o.finish("cuda");
  if (r.rank < -1 || r.rank >= r.ranks)
    throw std::runtime_error("`rank` is " + std::to_string(r.rank) + ", but there are " + std::to_string(r.ranks) +
                             " ranks");
  if (r.rank >= 0 && r.ranks > 1 && r.rendezvous.empty())
    throw std::runtime_error("one rank of several needs a `rendezvous`");
  size_t here = r.rank >= 0 ? 1 : size_t(r.ranks);
  if (!r.devices.empty() && r.devices.size() != here)
    throw std::runtime_error("`devices` names " + std::to_string(r.devices.size()) + " for the " +
                             std::to_string(here) + " ranks of this process");
  return runtime::cuda::makeSession(r);
}

}  // namespace

std::string traceFile() {
  const char* file = std::getenv("TANDEM_TRACE");
  return file ? file : "";
}

std::unique_ptr<runtime::Session> sessionFor(const std::string& optionsJson,
                                             std::shared_ptr<interpreter::Chooser> chooser) {
  Options o(optionsJson);
  std::string target = o.take<std::string>("target", "sim");
  if (target == "sim") return simulated(o, std::move(chooser));
  if (chooser) throw std::runtime_error("only simulated ranks have a schedule to choose");
  if (target == "cuda") return onGpus(o);
  throw std::runtime_error("`target` is `" + target + "`; it is one of sim, cuda");
}

}  // namespace tandem
