// A GemmChooser chooses how an operator that multiplies runs for each number of rows: as it was tuned, else as the model
// finds quickest. The choice is the same on all ranks.
#pragma once
#include "ops/gemm_choice.h"
#include "ops/table.h"
#include "ops/tuned_files.h"
#include <functional>
#include <map>

namespace tandem::ops {

class GemmChooser {
 public:
  // [collective, blocks] Everybody takes rank 0's machine and what was tuned before there.
  GemmChooser(Team& team, const Table& table, const GemmModel& model, int64_t n, int64_t k, DType dtype,
              const GemmConfig& given);

  // `blocks`: this rank copies blocks. `result`: of the call. `isAlike`: so do the others, or as little; without, nothing is
  // chosen that takes all ranks. Valid until the next call.
  const GemmChoice& choose(int64_t m, bool blocks, DType result, bool isAlike = true);
  // Every rank has the vendor's library.
  bool hasProducts() const { return hasProducts_; }
  const model::Machine& machine() const { return machine_; }
  // [collective, blocks] `run` queues a call on `stream`, for which it asks `choose`.
  TunedGemm tune(int64_t m, int stream, const std::function<void()>& run);

 private:
  struct Key {
    int64_t m;
    bool blocks, isOwnType, isAlike = true;
    auto operator<=>(const Key&) const = default;
  };
  GemmSizes sizes(int64_t m) const { return {m, n_, k_, team_.size(), dtype_}; }
  std::vector<GemmChoice> ordered(const Key& key) const;
  GemmChoice firstChoice(const Key& key);
  std::vector<GemmChoice> worthTrying(const Key& key) const;
  class Gate;
  TunedGemm search(const Key& key, const std::vector<GemmChoice>& all, int stream, const std::function<void()>& run);
  double timeOf(const GemmChoice& choice, int calls, Gate& gate, int stream, const std::function<void()>& run);
  double timedCalls(int calls, Gate& gate, int stream, const std::function<void()>& run);

  bool isSame(const GemmChoice& choice, const GemmConfig& tuned) const;

  Team& team_;
  const Table& table_;
  const GemmModel& model_;
  int64_t n_, k_;
  DType dtype_;
  GemmConfig given_;
  model::Machine machine_;
  bool hasProducts_ = true;
  TunedFiles files_;
  std::map<Key, TunedChoice> kept_;  // of other operators and processes, as they say
  std::map<Key, GemmChoice> chosen_;
  std::map<Key, TunedGemm> tuned_;
  const GemmChoice* tried_ = nullptr;  // while tuning
  Key asked_ = {};                     // by the last call of `choose`
  int gateStream_ = -1;                // made by the first tuning
};

}  // namespace tandem::ops
