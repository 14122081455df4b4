// Overlapping operators: communication beside computation. Safe to capture once and replay: what changes from call to
// call lives on the device.
#pragma once
#include "tandem/collectives.h"
#include "tandem/team.h"
#include <memory>

namespace tandem::ops {

class Planner;

// How the operators that multiply run. 0 leaves the choice to the operator, which goes by sizes and target. The same on
// all ranks. An operator refuses what is not its own.
struct GemmConfig {
  // Tile sizes, powers of two from 16. AllGatherGemm: blockN may be the sum of three; the largest is taken where no blocks are copied.
  int blockM = 0, blockN = 0, blockK = 0;
  int programs = 0;  // at most; never more than a rank has resident at once
  int numWarps = 0, numStages = 0;
  int group = 0;   // row blocks whose tiles follow one another, as they read the same columns (not GemmAllReduce)
  int bands = 0;   // of a shard's rows, which travel one after the other (AllGatherGemm)
  int slices = 0;  // of K, in which a band travels (AllGatherGemm)
  int pieces = 0;  // of K, into which tiles left over for the last round are cut (AllGatherGemm)
  bool bTransposed = false;  // b is [n, k]
  // GemmReduceScatter: in how many copies parts travel to each peer; 0: programs store them there; -1: its choice.
  int chunks = -1;
  // AllGatherGemm: how many slices each copy of a band takes, all bands of a peer, then the next peer's.
  std::vector<std::vector<int>> copies = {};
};

// What `tune` found. Times are microseconds of one call, of the slowest rank.
struct TunedGemm {
  GemmConfig config;
  double predicted = 0;  // by the model
  double measured = 0;   // 0 on simulated ranks, which have no time
  double untuned = 0;    // measured, of what the model would have taken
  int tried = 0;         // 0: it was known
};

// Rows of an M-row matrix that rank r holds when it is sharded over `ranks`: cdiv(M, ranks), fewer (or none) on the
// last ones. Throws Error where `ranks` is below 1.
TANDEM_API int64_t shardRows(int64_t m, int ranks);
TANDEM_API int64_t rowsOfRank(int64_t m, int ranks, int rank);

// C[m, n] = gather(A)[m, k] · B[k, n]; A is sharded by rows, B and C belong to the rank. fp16, bf16, fp32 or fp8 (both
// operands of one type); C is fp16, bf16 or fp32. Construction and close() are collective and may wait for other ranks;
// without close() the memory lives until the run ends. One operator serves one stream at a time.
class TANDEM_API AllGatherGemm {
 public:
  AllGatherGemm(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype, const GemmConfig& config = {});
  AllGatherGemm(const AllGatherGemm&) = delete;
  ~AllGatherGemm();
  // a: [rowsOfRank(m), k], b: [k, n] (bTransposed: [n, k]), c: [m, n], all contiguous. Every rank calls with the same
  // m <= maxM. Queued on `stream`; a may be overwritten by what follows there.
  void run(const Tensor& a, const Tensor& b, const Tensor& c, int64_t m, int stream = 0);
  // [collective, blocks] Calls what the model finds quickest a few times on all ranks and keeps the best for calls of this m, in the
  // cache directory too: operators of these sizes find it there. Arguments as run's; c holds the result.
  TunedGemm tune(const Tensor& a, const Tensor& b, const Tensor& c, int64_t m, int stream = 0);
  void close();

 private:
  struct Plan;
  Plan planned(const Tensor& a, const Tensor& b, const Tensor& c, int64_t m) const;
  void multiply(const Plan& plan, const Tensor& a, const Tensor& b, const Tensor& c, int stream);
  void push(const Plan& plan, const Tensor& a, int stream);
  int peerAt(int distance) const { return (team_.rank() + distance) % team_.size(); }

  Team& team_;
  int64_t maxM_, n_, k_;
  DType dtype_;
  GemmConfig config_;
  std::unique_ptr<Planner> planner_;
  int64_t pitch_;  // rows from one shard to the next in gathered_
  Tensor gathered_, ready_, done_, ended_, epoch_, pieces_, brought_;
  uint64_t op_ = 0;  // for its calls
  bool closed_ = false;
};

// out[rowsOfRank(m), n] = this rank's rows of the sum over ranks of A[m, k] · B[k, n], k being each rank's share. Types as
// above; partial products travel in the operator's type, of fp8 in bf16. The sum runs in fp32, in one order: the same
// bits in every run.
class TANDEM_API GemmReduceScatter {
 public:
  GemmReduceScatter(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype, const GemmConfig& config = {});
  GemmReduceScatter(const GemmReduceScatter&) = delete;
  ~GemmReduceScatter();
  // a: [m, k], b: [k, n] (bTransposed: [n, k]), out: [rowsOfRank(m), n], all contiguous. Every rank calls with the same
  // m <= maxM. Queued on `stream`.
  void run(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream = 0);
  TunedGemm tune(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream = 0);  // as AllGatherGemm's
  void close();

 private:
  void push(int64_t tiles, int64_t turn, uint64_t bytes, int stream);

  Team& team_;
  int64_t maxM_, n_, k_;
  DType dtype_;
  GemmConfig config_;
  std::unique_ptr<Planner> planner_;
  Tensor parts_, ready_, outgoing_, arrived_, brought_, begun_, epoch_, done_;
  uint64_t op_ = 0;  // for its calls
  bool closed_ = false;
};

// How GemmAllReduce runs.
struct GemmAllReduceConfig : GemmConfig {
  int splits = 0;  // programs that share the inner dimension of a tile
  // Results up to so many bytes are summed by every rank for itself; -1: the operator chooses.
  int64_t oneShotBytes = -1;
  int64_t wordsBytes = -1;  // and up to so many their parts travel in words that carry their flag
};

// c[m, n] = sum over ranks of A[m, k] · B[k, n] on every rank, k being each rank's share: made for few rows, where reading B takes the
// time. Types and order as GemmReduceScatter's, and the same bits on every rank.
class TANDEM_API GemmAllReduce {
 public:
  GemmAllReduce(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype, const GemmAllReduceConfig& config = {});
  GemmAllReduce(const GemmAllReduce&) = delete;
  // a: [m, k], b: [k, n] (bTransposed: [n, k]), c: [m, n], all contiguous. Every rank calls with the same m <= maxM. Queued on `stream`.
  void run(const Tensor& a, const Tensor& b, const Tensor& c, int64_t m, int stream = 0);
  void close();

 private:
  struct Plan;
  Plan planned(int64_t m, bool blocks) const;

  Team& team_;
  int64_t maxM_, n_, k_;
  DType dtype_;
  GemmAllReduceConfig config_;
  int programs_;
  int64_t setElements_, setWords_;
  Tensor parts_, sums_, words_, splits_, ready_, done_, counted_, epochs_;
  uint64_t op_ = 0;  // for its calls
  bool closed_ = false;
};

}  // namespace tandem::ops
