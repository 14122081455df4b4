// runtime::Session over the ranks of this process: each call goes to the rank that it names.
#include "runtime/ranks/session.h"
#include "runtime/ranks/rank.h"
#include <algorithm>
#include <unistd.h>

namespace tandem::runtime::ranks {
namespace {

class RanksSession final : public runtime::Session {
 public:
  RanksSession(int rankCount, const std::vector<RankOptions>& here, std::shared_ptr<const Platform> platform)
      : platform_(std::move(platform)), ranks_(size_t(rankCount)), isTraced_(here.front().trace) {
    for (const RankOptions& o : here) ranks_[size_t(o.place.rank)] = std::make_unique<Rank>(o, *platform_);
  }

  int rankCount() const override { return int(ranks_.size()); }
  std::string target(int rank) const override { return at(rank).target(); }
  std::string deviceName(int rank) const override { return at(rank).facts().name; }
  int residentPrograms(int rank) const override { return at(rank).facts().residentPrograms; }

  void enter(int rank) override { at(rank).enter(); }
  void leave(int rank) override { at(rank).leave(); }
  void abort(int rank, const std::string& why) override { at(rank).abort(why); }
  void interrupt() override {
    for (const auto& rank : ranks_)
      if (rank) rank->interrupt();
  }
  void finish() override {}  // each rank has given back its resources when it left

  // The same reason from several ranks is one report.
  std::vector<RunReport> reports() const override {
    std::vector<RunReport> out;
    for (const auto& rank : ranks_) {
      if (!rank) continue;
      for (RunReport& r : rank->reports())
        if (std::none_of(out.begin(), out.end(), [&](const RunReport& other) { return other.text == r.text; }))
          out.push_back(std::move(r));
    }
    return out;
  }

  std::optional<interpreter::Trace> trace() const override {
    if (!isTraced_) return std::nullopt;
    interpreter::Trace all;
    for (const auto& rank : ranks_) {
      if (!rank) continue;
      interpreter::Trace one = rank->trace();
      all.originNs = std::max(all.originNs, one.originNs);  // 0: the rank has not left
      all.lost += one.lost;
      std::move(one.spans.begin(), one.spans.end(), std::back_inserter(all.spans));
    }
    return all;
  }

  Address allocate(int rank, uint64_t bytes, bool symmetric, bool initialised, const std::string& name,
                   const HostPlace&, int team) override {
    return at(rank).allocate(bytes, symmetric, initialised, name, team);
  }
  void release(int rank, Address address, const HostPlace&) override { at(rank).release(address); }
  void releaseAsync(int rank, StreamId stream, Address address) override { at(rank).releaseAsync(stream, address); }
  Address peerAddress(int rank, Address address, int peer, int team) const override {
    return at(rank).peerAddress(address, peer, team);
  }
  HostWords hostWords(int rank, uint64_t count, const std::string&) override { return at(rank).hostWords(count); }
  int createTeam(int rank, const std::vector<int>& members) override { return at(rank).createTeam(members); }
  std::vector<int> membersOf(int rank, int team) const override { return at(rank).membersOf(team); }
  void openPart(int rank, int team) override { at(rank).openPart(team); }

  std::vector<std::string> gather(int rank, int team, const std::string& bytes) override {
    return at(rank).gather(team, bytes);
  }

  uint64_t openOperator(int rank, const OperatorName& name, int team) override {
    return at(rank).openOperator(name, team);
  }
  void callOperator(int rank, uint64_t op, StreamId stream, std::span<const int64_t> sizes) override {
    at(rank).callOperator(op, stream, sizes);
  }
  StreamId createStream(int rank) override { return at(rank).createStream(); }
  StreamId streamBeside(int rank, StreamId stream) override { return at(rank).streamBeside(stream); }
  StreamId adoptStream(int rank, uint64_t handle) override { return at(rank).adoptStream(handle); }
  bool hasStream(int rank, StreamId stream) const override { return at(rank).hasStream(stream); }

  void launch(int rank, StreamId stream, const KernelLaunch& launch) override { at(rank).launch(stream, launch); }
  bool hasProducts(int rank) override { return at(rank).hasProducts(); }
  void multiply(int rank, StreamId stream, const Product& product) override { at(rank).multiply(stream, product); }
  void copyRows(int rank, StreamId stream, Address dest, uint64_t destPitch, Address source, uint64_t sourcePitch,
                uint64_t bytes, uint64_t rows) override {
    at(rank).copyRows(stream, dest, destPitch, source, sourcePitch, bytes, rows);
  }
  void copy(int rank, StreamId stream, Address dest, Address source, uint64_t bytes) override {
    at(rank).copy(stream, dest, source, bytes);
  }
  void set(int rank, StreamId stream, Address dest, uint8_t value, uint64_t bytes) override {
    at(rank).set(stream, dest, value, bytes);
  }
  void copyFromHost(int rank, StreamId stream, Address dest, const void* source, uint64_t bytes) override {
    at(rank).copyFromHost(stream, dest, source, bytes);
  }
  void copyToHost(int rank, StreamId stream, void* dest, Address source, uint64_t bytes) override {
    at(rank).copyToHost(stream, dest, source, bytes);
  }
  void signals(int rank, StreamId stream, std::span<const SignalStep> steps) override {
    at(rank).signals(stream, steps);
  }
  void barrierOnStream(int rank, StreamId stream, int team) override { at(rank).barrierOnStream(stream, team); }
  EventId recordEvent(int rank, StreamId stream) override { return at(rank).recordEvent(stream); }
  void waitEvent(int rank, StreamId stream, EventId event) override { at(rank).waitEvent(stream, event); }

  EventId recordTime(int rank, StreamId stream) override { return at(rank).recordTime(stream); }
  double microseconds(int rank, EventId from, EventId to) override { return at(rank).microseconds(from, to); }

  void synchronize(int rank) override { at(rank).synchronize(); }
  void synchronize(int rank, StreamId stream) override { at(rank).synchronize(stream); }
  void barrier(int rank, int team) override { at(rank).barrier(team); }

 private:
  Rank& at(int rank) const {
    if (rank < 0 || rank >= rankCount() || !ranks_[size_t(rank)])
      throw std::invalid_argument("rank " + std::to_string(rank) + " is not one of this process");
    return *ranks_[size_t(rank)];
  }
  std::shared_ptr<const Platform> platform_;
  std::vector<std::unique_ptr<Rank>> ranks_;  // null: another process's
  bool isTraced_;
};

// A name that no other session of any process has.
std::string ownName() {
  static std::atomic<int> count = 0;
  return "threads-" + std::to_string(getpid()) + "-" + std::to_string(count++);
}

void checkOptions(const RanksOptions& o) {
  if (o.ranks < 1) throw std::invalid_argument("a run has at least 1 rank, not " + std::to_string(o.ranks));
  if (o.rank >= o.ranks)
    throw std::invalid_argument("rank " + std::to_string(o.rank) + " is not one of " + std::to_string(o.ranks));
  bool threads = o.rank < 0;
  if (!threads && o.ranks > 1 && o.rendezvous.empty())
    throw std::invalid_argument("ranks in processes of their own need the name of a rendezvous");
  size_t count = o.devices.size();
  if (count && count != size_t(o.ranks) && (threads || count != 1))
    throw std::invalid_argument(std::to_string(count) + " devices are named for " + std::to_string(o.ranks) + " ranks");
}

int deviceFor(const RanksOptions& o, int rank, const Platform& platform) {
  if (o.devices.empty()) return rank % platform.deviceCount();
  return o.devices.size() == 1 ? o.devices[0] : o.devices[size_t(rank)];
}

}  // namespace

std::unique_ptr<runtime::Session> makeSession(const RanksOptions& options, std::shared_ptr<const Platform> platform) {
  checkOptions(options);
  platform->deviceCount();  // throws where there is none
  std::string name = options.rank < 0 ? ownName() : options.rendezvous;
  std::vector<RankOptions> here;
  for (int r = 0; r < options.ranks; ++r)
    if (options.rank < 0 || r == options.rank)
      here.push_back({{r, options.ranks, deviceFor(options, r, *platform), options.rank >= 0 || options.ranks == 1,
                       options.heapStride},
                      name,
                      options.waitTimeoutMs,
                      options.trace});
  return std::make_unique<RanksSession>(options.ranks, here, std::move(platform));
}

}  // namespace tandem::runtime::ranks
