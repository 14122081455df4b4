// Collectives over the ranks of a team. Safe to capture once and replay: what changes from call to call lives on the device.
#pragma once
#include "tandem/team.h"
#include <memory>

namespace tandem::ops {

class Words;

// How a collective runs. 0 leaves the choice to it. The same on all ranks.
struct CollectiveConfig {
  int programs = 0;  // at most; never more than a rank has resident at once
  int numWarps = 0;
  int64_t chunkBytes = 0;  // what a program sends under one signal, at most
};

// OneShot: everybody sends all to everybody, data and flag in one word. TwoShotWords: the same with an owner for each element, who
// sums and sends the sum. TwoShot: chunks with signals, as fast as the links are.
enum class AllReduceWay : uint8_t { Auto, OneShot, TwoShotWords, TwoShot };

// What Auto becomes on the machine of the default profile.
TANDEM_API AllReduceWay allReduceWay(int64_t bytes, int ranks);

// out = sum of every rank's x, on every rank; fp16, bf16 or fp32, summed in fp32 in rank order: the same bits on every rank, in every
// run, on every way. Construction and close() are collective and may wait for other ranks; without close() the memory lives until
// the run ends. One operator serves one stream at a time.
class TANDEM_API AllReduce {
 public:
  AllReduce(Team& team, int64_t maxElements, DType dtype, AllReduceWay way = AllReduceWay::Auto,
            const CollectiveConfig& config = {});
  AllReduce(const AllReduce&) = delete;
  ~AllReduce();
  // Contiguous, of one size, the same on every rank; out may be x. `symmetricOut`: out is the same symmetric tensor on every rank, so
  // that two shots write there at once. Queued on `stream`.
  void run(const Tensor& x, const Tensor& out, int stream = 0, bool symmetricOut = false);
  void close();

 private:
  void runTwoShot(const Tensor& x, const Tensor& out, int stream, bool symmetricOut);

  Team& team_;
  int64_t maxElements_, mostChunks_ = 0;
  DType dtype_;
  AllReduceWay way_;
  double reach_ = 1;  // of the sizes at which the way changes, by the machine's profile
  CollectiveConfig given_, config_;
  std::unique_ptr<Words> words_, sharedWords_;  // one shot, two shots
  Tensor parts_, sums_, ready_, done_, epochs_;
  uint64_t op_ = 0;  // for its calls
  bool closed_ = false;
};

// out[rowsOfRank(m), columns] = this rank's rows of the sum of every rank's x[m, columns]. Types, order and life as AllReduce's.
class TANDEM_API ReduceScatter {
 public:
  ReduceScatter(Team& team, int64_t maxM, int64_t columns, DType dtype, const CollectiveConfig& config = {});
  ReduceScatter(const ReduceScatter&) = delete;
  // Every rank calls with the same m <= maxM. Queued on `stream`.
  void run(const Tensor& x, const Tensor& out, int64_t m, int stream = 0);
  void close();

 private:
  Team& team_;
  int64_t maxM_, columns_, mostChunks_;
  DType dtype_;
  CollectiveConfig given_, config_;
  Tensor parts_, ready_, epochs_;
  uint64_t op_ = 0;  // for its calls
  bool closed_ = false;
};

// out[m, columns] = the rows x[rowsOfRank(m), columns] of all ranks, of any element type. Small ones travel in words with flags, large
// ones by copy engines, which need no multiprocessor.
class TANDEM_API AllGather {
 public:
  // What is gathered in words: at most so many bytes of result.
  static constexpr int64_t kWordsBytes = 256 << 10;

  AllGather(Team& team, int64_t maxM, int64_t columns, DType dtype, const CollectiveConfig& config = {},
            int64_t wordsBytes = kWordsBytes);
  AllGather(const AllGather&) = delete;
  ~AllGather();
  // Every rank calls with the same m <= maxM. `symmetricOut`: out is the same symmetric tensor on every rank, so that copies need no
  // workspace. Queued on `stream`.
  void run(const Tensor& x, const Tensor& out, int64_t m, int stream = 0, bool symmetricOut = false);
  void close();

 private:
  void runWords(const Tensor& x, const Tensor& out, int64_t m, int stream);
  void runCopies(const Tensor& x, const Tensor& out, int64_t m, int stream, bool symmetricOut);

  Team& team_;
  int64_t maxM_, columns_, wordsBytes_;
  DType dtype_;
  std::unique_ptr<Words> words_;
  Tensor gathered_, ready_, begun_;
  uint64_t op_ = 0;  // for its calls
  bool closed_ = false;
};

}  // namespace tandem::ops
