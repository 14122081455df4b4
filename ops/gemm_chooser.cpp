// Rank 0 reads files and tells the others; a candidate's time is that of the slowest rank. So all ranks come to the
// same choice.
#include "ops/gemm_chooser.h"
#include "ops/machine_of_ranks.h"
#include "ops/product/library_time.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace tandem::ops {
namespace {
using nlohmann::json;

constexpr size_t kCandidates = 10;
constexpr size_t kFinalists = 3;
// Long enough to be timed well, in a first and in a second pass.
constexpr double kFirstMicroseconds = 4e3, kSecondMicroseconds = 15e3;

constexpr double kMostCalls = 20;  // whose launches all wait behind the gate; a stream's queue has a thousand places
constexpr int64_t kFlushBytes = 256 << 20;  // more than any second cache

int callsFor(double microseconds, double wanted) {
  return int(std::clamp(wanted / std::max(1.0, microseconds), 3.0, kMostCalls));
}

GemmConfig withCopies(const GemmChoice& choice) {
  GemmConfig config = choice.config;
  config.copies = choice.slices.copies;
  return config;
}

std::string contribution(const Team& team, const TunedFiles& files) {
  json out = {{"products", team.hasProducts()}};
  if (team.rank() != 0) return out.dump();
  out["machine"] = textOf(machineOfRank(team));
  out["tuned"] = json::array();
  for (const TunedChoice& choice : files.read()) out["tuned"].push_back(files.textOf(choice));
  return out.dump();
}

}  // namespace

// What calls are timed behind. It holds a stream until the host has queued everything, so that nothing but the device's
// work is timed, and empties the second cache, in which a model's other layers leave no weights either.
class GemmChooser::Gate {
 public:
  // Opened on `stream`.
  Gate(Team& team, int stream)
      : team_(team), signal_(team.localZeros({1}, DType::Int64, "tuning gate")), stream_(stream) {
    if (team.target() != "sim") flushed_ = team.localZeros({kFlushBytes}, DType::Int8, "tuning flush");
  }
  ~Gate() {
    try {
      if (isHeld_) {  // a call behind it has failed
        open();
        team_.synchronize(stream_);
      }
      team_.release(signal_);
      if (flushed_.address) team_.release(flushed_);
    } catch (const std::exception&) {
    }  // the run has ended
  }
  void flush(int stream) { team_.fill(flushed_, 0, stream); }
  void hold(int stream) {
    team_.signalWait(signal_, Compare::Ge, ++held_, stream);
    isHeld_ = true;
  }
  void open() {
    team_.signalWrite(signal_, held_, stream_);
    isHeld_ = false;
  }

 private:
  Team& team_;
  Tensor signal_, flushed_;
  int stream_;
  uint64_t held_ = 0;
  bool isHeld_ = false;
};

GemmChooser::GemmChooser(Team& team, const Table& table, const GemmModel& model, int64_t n, int64_t k, DType dtype,
                         const GemmConfig& given)
    : team_(team), table_(table), model_(model), n_(n), k_(k), dtype_(dtype), given_(given),
      files_(table, {0, n, k, team.size(), dtype}, given, team.deviceName()) {
  std::vector<std::string> all = team.gather(contribution(team, files_));
  json told = json::parse(all.front());
  for (const std::string& text : all) hasProducts_ &= json::parse(text).at("products").get<bool>();
  machine_ = model::readMachine(told.at("machine"));
  checkLibrary(given, sizes(1));
  if (model.check) model.check(given, sizes(1), {team.target(), team.residentPrograms(), true}, machine_);
  for (const json& text : told.at("tuned")) {
    TunedChoice tuned = files_.fromText(text);
    kept_[{tuned.m, tuned.blocks, true}] = tuned;
  }
}

std::vector<GemmChoice> GemmChooser::ordered(const Key& key) const {
  GemmPlace place{team_.target(), team_.residentPrograms(), key.blocks, hasProducts_ && key.isAlike, key.isOwnType};
  return choices(model_, given_, sizes(key.m), place, machine_);
}

// But for `group`, of which the model says nothing; products of few rows have none.
bool GemmChooser::isSame(const GemmChoice& choice, const GemmConfig& tuned) const {
  GemmConfig config = withCopies(choice);
  if (config.group && tuned.group) config.group = tuned.group;
  return table_.key(&config) == table_.key(&tuned);
}

// Returns the tuned choice, if it could have been chosen here (a file may be damaged, or written by another version),
// else the model's.
GemmChoice GemmChooser::firstChoice(const Key& key) {
  constexpr int mostGroup = 64;
  std::vector<GemmChoice> all = ordered(key);
  auto kept = kept_.find(key);
  if (kept == kept_.end() || kept->second.config.group < 0 || kept->second.config.group > mostGroup) return all.front();
  const TunedChoice& tuned = kept->second;
  for (GemmChoice& choice : all) {
    if (!isSame(choice, tuned.config)) continue;
    choice.config.group = tuned.config.group;
    tuned_[key] = {withCopies(choice), choice.microseconds, tuned.measured, tuned.untuned, 0};
    return choice;
  }
  return all.front();
}

const GemmChoice& GemmChooser::choose(int64_t m, bool blocks, DType result, bool isAlike) {
  asked_ = {m, blocks, result == partType(dtype_), isAlike};
  if (tried_) return *tried_;
  auto found = chosen_.find(asked_);
  if (found == chosen_.end()) found = chosen_.emplace(asked_, firstChoice(asked_)).first;
  return found->second;
}

// The model says nothing of `group`: other ones are tried with its first choice.
std::vector<GemmChoice> GemmChooser::worthTrying(const Key& key) const {
  std::vector<GemmChoice> all = ordered(key);
  all.resize(std::min(all.size(), kCandidates));
  if (!all.front().config.group || given_.group) return all;
  for (int group : {4, 16}) {
    all.push_back(all.front());
    all.back().config.group = group;
  }
  return all;
}

TunedGemm GemmChooser::tune(int64_t m, int stream, const std::function<void()>& run) {
  run();  // says whether this rank copies blocks, and is wrong at once where the arguments are
  Key key = asked_;
  for (const std::string& blocks : team_.gather(json(key.blocks).dump()))
    if (json::parse(blocks) != key.blocks)
      throw Error(
          "`tune`: some ranks copy blocks and others do not, by their GPUs or by their tensors' rows: no choice suits "
          "all");
  if (auto known = tuned_.find(key); known != tuned_.end()) return known->second;
  TunedGemm found = search(key, worthTrying(key), stream, run);
  tuned_[key] = found;
  tuned_[key].tried = 0;
  if (team_.rank() == 0 && key.isOwnType) files_.store({m, key.blocks, found.config, found.measured, found.untuned});
  return found;
}

// All once, then the quickest of them and the model's first choice again for longer.
TunedGemm GemmChooser::search(const Key& key, const std::vector<GemmChoice>& all, int stream,
                              const std::function<void()>& run) {
  if (gateStream_ < 0) gateStream_ = team_.target() == "sim" ? 0 : team_.newStream();
  Gate gate(team_, gateStream_);
  std::vector<std::pair<double, size_t>> times;
  for (size_t i = 0; i < all.size(); ++i)
    times.emplace_back(timeOf(all[i], callsFor(all[i].microseconds, kFirstMicroseconds), gate, stream, run), i);
  std::sort(times.begin() + 1, times.end());
  times.resize(std::min(times.size(), kFinalists + 1));
  for (auto& [time, i] : times)
    time = timeOf(all[i], callsFor(all[i].microseconds, kSecondMicroseconds), gate, stream, run);
  auto [best, at] = *std::min_element(times.begin(), times.end());
  const GemmChoice& won = chosen_[key] = all[at];
  return {withCopies(won), won.microseconds, best, times.front().first, int(all.size())};
}

double GemmChooser::timeOf(const GemmChoice& choice, int calls, Gate& gate, int stream,
                           const std::function<void()>& run) {
  struct Trying {
    const GemmChoice*& place;
    ~Trying() { place = nullptr; }
  } trying{tried_};
  tried_ = &choice;
  run();  // compiles and loads
  team_.barrier();
  if (team_.target() == "sim") return 0;
  double slowest = 0;
  for (const std::string& microseconds : team_.gather(json(timedCalls(calls, gate, stream, run)).dump()))
    slowest = std::max(slowest, json::parse(microseconds).get<double>());
  return slowest;
}

// The median of the calls, each of which finds its operands in memory and all ranks ready.
double GemmChooser::timedCalls(int calls, Gate& gate, int stream, const std::function<void()>& run) {
  std::vector<std::pair<uint64_t, uint64_t>> ends;
  gate.hold(stream);
  for (int i = 0; i < calls; ++i) {
    gate.flush(stream);
    team_.barrierOnStream(stream);
    uint64_t begin = team_.recordTime(stream);
    run();
    ends.emplace_back(begin, team_.recordTime(stream));
  }
  gate.open();
  std::vector<double> times;
  for (auto [begin, end] : ends) times.push_back(team_.microseconds(begin, end));
  auto middle = times.begin() + calls / 2;
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace tandem::ops
