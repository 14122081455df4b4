// Overlapping operators: communication and computation in one kernel. Safe to capture once and replay: their epochs
// live on the device.
#pragma once
#include "tandem/team.h"

namespace tandem::ops {

// Tile sizes, powers of two from 16, and how many programs run: at most, for all must be resident at once (they wait
// for each other across ranks), so fewer are launched where a rank has room for fewer.
struct GemmConfig {
  int blockM = 64, blockN = 64, blockK = 32;
  int programs = 32;      // that multiply
  int commPrograms = 4;   // that push (ag_gemm)
  int numWarps = 4;
};

// Rows of an M-row matrix that rank r holds when it is sharded over `ranks`: cdiv(M, ranks), fewer (or none) on the
// last ones.
TANDEM_API int64_t shardRows(int64_t m, int ranks);
TANDEM_API int64_t rowsOfRank(int64_t m, int ranks, int rank);

// C[m, n] = gather(A)[m, k] · B[k, n]; A is sharded by rows, B and C belong to the rank. fp16, bf16 or fp32; C may be
// of another type. Construction and close() are collective and may wait for other ranks; without close() the memory
// lives until the run ends. One operator serves one stream at a time.
class TANDEM_API AllGatherGemm {
 public:
  AllGatherGemm(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype, const GemmConfig& config = {});
  AllGatherGemm(const AllGatherGemm&) = delete;
  // a: [rowsOfRank(m), k], b: [k, n], c: [m, n], all contiguous. Every rank calls with the same m <= maxM. Queued on
  // `stream`.
  void run(const Tensor& a, const Tensor& b, const Tensor& c, int64_t m, int stream = 0);
  void close();

 private:
  Team& team_;
  int64_t maxM_, n_, k_;
  DType dtype_;
  GemmConfig config_;
  Tensor workspace_, ready_, begun_, epoch_;
};

// out[rowsOfRank(m), n] = this rank's rows of the sum over ranks of A[m, k] · B[k, n], k being each rank's share. The
// sum runs in rank order in fp32 over parts of type `dtype`, so results are the same bits in every run.
class TANDEM_API GemmReduceScatter {
 public:
  GemmReduceScatter(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype, const GemmConfig& config = {});
  GemmReduceScatter(const GemmReduceScatter&) = delete;
  // a: [m, k], b: [k, n], out: [rowsOfRank(m), n], all contiguous. Every rank calls with the same m <= maxM. Queued on
  // `stream`.
  void run(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream = 0);
  void close();

 private:
  Team& team_;
  int64_t maxM_, n_, k_;
  DType dtype_;
  GemmConfig config_;
  Tensor workspace_, ready_, begun_, epoch_;
};

}  // namespace tandem::ops
