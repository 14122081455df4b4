// The results of tuning are kept on disk: a folder for each GPU, build, operator, columns, inner size, type, number of
// ranks and configuration; in it a file for each number of rows. Any number of processes may share it.
#pragma once
#include "ops/gemm_choice.h"
#include "ops/table.h"

namespace tandem::ops {

struct TunedChoice {
  int64_t m = 0;
  bool blocks = false;
  GemmConfig config;
  double measured = 0, untuned = 0;
};

class TunedFiles {
 public:
  // Keeps nothing where `gpu` is empty or there is no cache directory.
  TunedFiles(const Table& table, const GemmSizes& sizes, const GemmConfig& given, const std::string& gpu);
  std::vector<TunedChoice> read() const;        // damaged files are left out
  void store(const TunedChoice& choice) const;  // whole or not at all; no error where it cannot be written
  std::string textOf(const TunedChoice& choice) const;
  TunedChoice fromText(const std::string& text) const;  // throws std::exception if it is not such a text

 private:
  const Table& table_;
  std::string folder_;  // empty: nothing is kept
};

}  // namespace tandem::ops
