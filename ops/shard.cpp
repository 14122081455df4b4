// How rows are dealt to ranks.
#include "ops/check.h"
#include "tandem/ops.h"
#include <algorithm>

namespace tandem::ops {

int64_t shardRows(int64_t m, int ranks) { return (m + ranks - 1) / ranks; }

int64_t rowsOfRank(int64_t m, int ranks, int rank) {
  int64_t shard = shardRows(m, ranks);
  return std::clamp<int64_t>(m - rank * shard, 0, shard);
}

void checkShape(const char* op, const char* name, const Tensor& t, int64_t rows, int64_t columns) {
  if (t.shape == std::vector<int64_t>{rows, columns}) return;
  std::string seen;
  for (int64_t d : t.shape) seen += (seen.empty() ? "" : ", ") + std::to_string(d);
  throw Error(std::string("`") + op + "`: `" + name + "` has shape [" + seen + "], [" + std::to_string(rows) + ", " +
              std::to_string(columns) + "] is needed");
}

void checkDType(const char* op, const char* what, const Tensor& t, DType dtype) {
  if (t.dtype != dtype)
    throw Error(std::string("`") + op + "`: `" + what + "` is " + name(t.dtype) + ", the operator was made for " + name(dtype));
}

void checkRows(const char* op, int64_t m, int64_t maxM) {
  if (m < 1 || m > maxM)
    throw Error(std::string("`") + op + "`: m is " + std::to_string(m) + ", the operator was made for 1 to " + std::to_string(maxM));
}

}  // namespace tandem::ops
