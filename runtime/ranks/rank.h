// A Rank is one rank of a multi-GPU session: its device, its place among the ranks, and the operations of its host
// thread.
#pragma once
#include "runtime/ranks/local_memory.h"
#include "runtime/ranks/rank_context.h"
#include "runtime/ranks/rank_trace.h"
#include "runtime/ranks/stream_waits.h"
#include "runtime/ranks/symmetric_heap.h"

namespace tandem::runtime::ranks {

struct RankOptions {
  RankPlace place;
  std::string rendezvous;
  uint64_t waitTimeoutMs = 0;
  bool trace = false;
};

// The calls of runtime::Session for one rank.
class Rank {
 public:
  Rank(const RankOptions& options, const Platform& platform);
  ~Rank();

  const DeviceFacts& facts() const { return facts_; }
  std::string target() const;
  void enter();
  void leave();
  void abort(const std::string& why);
  void interrupt() { meeting_.interrupt(); }
  std::vector<RunReport> reports() const;
  interpreter::Trace trace() const;  // once it has left

  Address allocate(uint64_t bytes, bool symmetric, bool initialised, const std::string& name, int team);
  void release(Address address);
  void releaseAsync(StreamId stream, Address address);
  Address peerAddress(Address address, int peer, int team) const;
  HostWords hostWords(uint64_t count);
  int createTeam(const std::vector<int>& members);
  const std::vector<int>& membersOf(int team) { return running().context.membersOf(team); }
  void openPart(int team);
  std::vector<std::string> gather(int team, const std::string& bytes);

  uint64_t openOperator(OperatorName name, int team);
  void callOperator(uint64_t op, StreamId stream, std::span<const int64_t> sizes);

  StreamId createStream() { return running().streams.create(); }
  StreamId streamBeside(StreamId stream) { return running().streams.beside(stream); }
  StreamId adoptStream(uint64_t handle) { return running().streams.adopt(handle); }
  bool hasStream(StreamId stream) const { return open_ && open_->streams.has(stream); }
  void launch(StreamId stream, const KernelLaunch& launch);
  bool hasProducts();
  void multiply(StreamId stream, const Product& product);
  void copy(StreamId stream, Address dest, Address source, uint64_t bytes);
  void copyRows(StreamId stream, Address dest, uint64_t destPitch, Address source, uint64_t sourcePitch, uint64_t bytes,
                uint64_t rows);
  void set(StreamId stream, Address dest, uint8_t value, uint64_t bytes);
  void copyFromHost(StreamId stream, Address dest, const void* source, uint64_t bytes);
  void copyToHost(StreamId stream, void* dest, Address source, uint64_t bytes);
  void signals(StreamId stream, std::span<const SignalStep> steps);
  void barrierOnStream(StreamId stream, int team);
  EventId recordEvent(StreamId stream);
  void waitEvent(StreamId stream, EventId event);
  EventId recordTime(StreamId stream);
  double microseconds(EventId from, EventId to);

  void synchronize();
  void synchronize(StreamId stream);
  void barrier(int team);

 private:
  struct Open;
  // A team that has memory of its own, as its kernels know it: its ranks are all there are.
  struct Part {
    Part(Open& open, Rendezvous& meeting, const RankOptions& options, const std::vector<int>& members);
    std::vector<int> members;
    int index;
    std::unique_ptr<SymmetricHeap> heap;
    RankContext context;
  };

  // The state of a rank between enter and leave.
  struct Open {
    Open(Rendezvous& meeting, const Platform& platform, const RankOptions& options, Device& device);
    ~Open() {
      for (SharedWords words : hostWords) device.releaseShared(words);
    }
    Device& device;
    std::vector<SharedWords> hostWords;
    Watch watch;
    Streams streams;
    Events events;
    StreamWaits waits;
    std::unique_ptr<Fabric> fabric;
    SymmetricHeap& heap;
    std::unique_ptr<RankTrace> trace;  // null: the rank is not traced
    RankContext context;
    LocalMemory local;
    std::shared_ptr<void> published;             // the context
    std::map<int, std::unique_ptr<Part>> parts;  // by team
  };

  const Part& partOf(int team) const;  // throws where there is none
  SymmetricHeap& heapOf(int team) const;
  SymmetricHeap* heapAt(Address address) const;

  Open& running();  // throws RunStopped, and on a rank that is not there
  template <class Call>
  auto collective(Call call);
  [[noreturn]] void throwStopped();
  void close();

  void checkProgress();
  void waitIdle(StreamId stream);
  void settle();
  bool drain();
  bool allIdle() const;
  void reportGivenUpWait();
  void reportHeldStream();
  std::string unlikeText(const tandem_dist_watch& watch) const;
  RunReport describeWait() const;
  std::string readText(Address at, size_t most) const;
  std::string signalText(Address signal) const;
  void queueSignals(StreamId stream, std::span<const SignalStep> steps);
  void barrierPhase(MemoryOperations& batch, StreamId stream, const std::vector<int>& members, Address flags);
  std::vector<Stream> liveStreams() const;
  // Calls `queue`, which gives a stream something to do that the trace shows.
  template <class Queue>
  void shown(StreamId stream, interpreter::SpanKind kind, const char* name, Queue queue, uint64_t bytes = 0,
             std::initializer_list<Address> places = {});
  int rankAt(Address address) const;
  void collectTrace();

  int me() const { return options_.place.rank; }

  RankOptions options_;
  const Platform& platform_;
  DeviceFacts facts_;
  std::atomic<Watch*> watch_ = nullptr;  // for the thread that hears of the end
  Rendezvous meeting_;
  std::unique_ptr<Device> device_;  // while the rank is open
  std::unique_ptr<Open> open_;
  std::map<int, uint32_t> operators_;  // how many are open, by team
  bool settled_ = false, told_ = false, stuck_ = false;
  mutable std::mutex mutex_;  // reports_, trace_
  std::vector<RunReport> reports_;
  interpreter::Trace trace_;
};

}  // namespace tandem::runtime::ranks
