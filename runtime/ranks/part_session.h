// A team as a run of its own: a session whose ranks are the team's, by their numbers there. It is a view of the whole
// run's session: memory, kernels, streams and reports are that one's.
#pragma once
#include "runtime/session.h"

namespace tandem::runtime {

// One rank's view. Team 0 is this team; other teams have the numbers that the whole run gives them.
class PartSession final : public Session {
 public:
  // [collective over the team, blocks] `rank`: of the whole run. The whole outlives the part.
  PartSession(Session& whole, int rank, int team);

  int rankCount() const override { return int(members_.size()); }
  std::string target(int rank) const override { return whole_.target(at(rank)); }
  std::string deviceName(int rank) const override { return whole_.deviceName(at(rank)); }
  int residentPrograms(int rank) const override { return whole_.residentPrograms(at(rank)); }

  void enter(int) override { refuse(); }
  void leave(int) override { refuse(); }
  void abort(int rank, const std::string& why) override { whole_.abort(at(rank), why); }
  void interrupt() override { whole_.interrupt(); }
  void finish() override { refuse(); }
  std::vector<RunReport> reports() const override { return whole_.reports(); }
  std::optional<interpreter::Trace> trace() const override { return whole_.trace(); }

  Address allocate(int rank, uint64_t bytes, bool symmetric, bool initialised, const std::string& name,
                   const HostPlace& place, int team) override {
    return whole_.allocate(at(rank), bytes, symmetric, initialised, name, place, teamOf(team));
  }
  void release(int rank, Address address, const HostPlace& place) override { whole_.release(at(rank), address, place); }
  void releaseAsync(int rank, StreamId stream, Address address) override {
    whole_.releaseAsync(at(rank), stream, address);
  }
  Address peerAddress(int rank, Address address, int peer, int team) const override {
    return whole_.peerAddress(at(rank), address, peer, teamOf(team));
  }
  Address mapHost(int rank, const HostMemory& memory, const HostPlace& place) override {
    return whole_.mapHost(at(rank), memory, place);
  }
  HostWords hostWords(int rank, uint64_t count, const std::string& name) override {
    return whole_.hostWords(at(rank), count, name);
  }

  int createTeam(int rank, const std::vector<int>& members) override;
  std::vector<int> membersOf(int rank, int team) const override;
  void openPart(int rank, int team) override { whole_.openPart(at(rank), teamOf(team)); }
  std::vector<std::string> gather(int rank, int team, const std::string& bytes) override {
    return whole_.gather(at(rank), teamOf(team), bytes);
  }
  uint64_t openOperator(int rank, const OperatorName& name, int team) override {
    return whole_.openOperator(at(rank), name, teamOf(team));
  }
  void callOperator(int rank, uint64_t op, StreamId stream, std::span<const int64_t> sizes) override {
    whole_.callOperator(at(rank), op, stream, sizes);
  }
  StreamId createStream(int rank) override { return whole_.createStream(at(rank)); }
  StreamId streamBeside(int rank, StreamId stream) override { return whole_.streamBeside(at(rank), stream); }
  StreamId adoptStream(int rank, uint64_t handle) override { return whole_.adoptStream(at(rank), handle); }
  bool hasStream(int rank, StreamId stream) const override { return whole_.hasStream(at(rank), stream); }

  void launch(int rank, StreamId stream, const KernelLaunch& launch) override;
  bool hasProducts(int rank) override { return whole_.hasProducts(at(rank)); }
  void multiply(int rank, StreamId stream, const Product& product) override {
    whole_.multiply(at(rank), stream, product);
  }
  void copy(int rank, StreamId stream, Address dest, Address source, uint64_t bytes) override {
    whole_.copy(at(rank), stream, dest, source, bytes);
  }
  void copyRows(int rank, StreamId stream, Address dest, uint64_t destPitch, Address source, uint64_t sourcePitch,
                uint64_t bytes, uint64_t rows) override {
    whole_.copyRows(at(rank), stream, dest, destPitch, source, sourcePitch, bytes, rows);
  }
  void set(int rank, StreamId stream, Address dest, uint8_t value, uint64_t bytes) override {
    whole_.set(at(rank), stream, dest, value, bytes);
  }
  void copyFromHost(int rank, StreamId stream, Address dest, const void* source, uint64_t bytes) override {
    whole_.copyFromHost(at(rank), stream, dest, source, bytes);
  }
  void copyToHost(int rank, StreamId stream, void* dest, Address source, uint64_t bytes) override {
    whole_.copyToHost(at(rank), stream, dest, source, bytes);
  }
  void signals(int rank, StreamId stream, std::span<const SignalStep> steps) override {
    whole_.signals(at(rank), stream, steps);
  }
  void barrierOnStream(int rank, StreamId stream, int team) override {
    whole_.barrierOnStream(at(rank), stream, teamOf(team));
  }
  EventId recordEvent(int rank, StreamId stream) override { return whole_.recordEvent(at(rank), stream); }
  void waitEvent(int rank, StreamId stream, EventId event) override { whole_.waitEvent(at(rank), stream, event); }
  EventId recordTime(int rank, StreamId stream) override { return whole_.recordTime(at(rank), stream); }
  double microseconds(int rank, EventId from, EventId to) override { return whole_.microseconds(at(rank), from, to); }

  void synchronize(int rank) override { whole_.synchronize(at(rank)); }
  void synchronize(int rank, StreamId stream) override { whole_.synchronize(at(rank), stream); }
  void barrier(int rank, int team) override { whole_.barrier(at(rank), teamOf(team)); }

 private:
  int at(int rank) const { return members_[size_t(rank)]; }
  int teamOf(int team) const { return team ? team : team_; }
  [[noreturn]] static void refuse() { throw std::logic_error("a team is entered and left with its run"); }

  Session& whole_;
  int team_;
  std::vector<int> members_;
};

}  // namespace tandem::runtime
