// How rows are dealt to ranks, and the operators' argument checks.
#include "ops/cdiv.h"
#include "ops/check.h"
#include "tandem/ops.h"
#include <algorithm>
#include <bit>
#include <string_view>

namespace tandem::ops {
namespace {

void checkNotNegative(const char* op, const char* name, int value) {
  if (value < 0)
    throw Error(std::string("`") + op + "`: `" + name + "` is " + std::to_string(value) + ", at least 1 is needed");
}

void checkTile(const char* op, const char* name, int value) {
  if (value == 0) return;
  if (value < 16 || !std::has_single_bit(unsigned(value)))
    throw Error(std::string("`") + op + "`: `" + name + "` is " + std::to_string(value) +
                ", a power of two from 16 is needed");
}

// Refuses what is given and `op` has no use for.
void checkTaken(const char* op, const GemmConfig& given) {
  constexpr const char *kAll = "ag_gemm gemm_rs gemm_ar", *kSharded = "ag_gemm gemm_rs";
  struct Choice {
    const char* name;
    std::string_view takers;
    bool isGiven = false;
    bool isOf(const char* op) const { return takers.find(op) != takers.npos; }
  };
  const Choice choices[] = {{"block_m", kAll},
                            {"block_n", kAll},
                            {"block_k", kAll},
                            {"programs", kAll},
                            {"num_warps", kAll},
                            {"num_stages", kAll},
                            {"b_transposed", kAll},
                            {"group", kSharded, given.group != 0},
                            {"bands", "ag_gemm", given.bands != 0},
                            {"slices", "ag_gemm", given.slices != 0},
                            {"copies", "ag_gemm", !given.copies.empty()},
                            {"pieces", "ag_gemm", given.pieces != 0},
                            {"chunks", "gemm_rs", given.chunks >= 0},
                            {"splits", "gemm_ar"},
                            {"one_shot_bytes", "gemm_ar"},
                            {"words_bytes", "gemm_ar"}};
  std::string taken;
  for (const Choice& c : choices)
    if (c.isOf(op)) taken += std::string(taken.empty() ? "`" : ", `") + c.name + "`";
  for (const Choice& c : choices)
    if (c.isGiven && !c.isOf(op))
      throw Error(std::string("`") + op + "` does not take `" + c.name + "`; it takes " + taken);
}

void checkWidth(const char* op, const GemmConfig& config, int parts) {
  if (parts == 1 || config.blockN == 0) return checkTile(op, "block_n", config.blockN);
  if (config.blockN < 16 || config.blockN % 16 || std::popcount(unsigned(config.blockN)) > parts)
    throw Error(std::string("`") + op + "`: `block_n` is " + std::to_string(config.blockN) + ", a sum of up to " +
                std::to_string(parts) + " powers of two from 16 is needed");
  if (config.pieces > 1 && !std::has_single_bit(unsigned(config.blockN)))
    throw Error(std::string("`") + op + "`: `pieces` is " + std::to_string(config.pieces) +
                ", but tiles are cut only where `block_n` is a power of two, which " + std::to_string(config.blockN) +
                " is not");
}

void checkAtMost(const char* op, const char* name, int value, int least, int most) {
  if (value > most)
    throw Error(std::string("`") + op + "`: `" + name + "` is " + std::to_string(value) + ", " + std::to_string(least) +
                " to " + std::to_string(most) + " are possible");
}

bool isResult(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16 || dtype == DType::Float32; }

}  // namespace

int64_t shardRows(int64_t m, int ranks) {
  if (ranks < 1) throw Error("`ranks` is " + std::to_string(ranks) + ", at least 1 is needed");
  return cdiv(m, ranks);
}

int64_t rowsOfRank(int64_t m, int ranks, int rank) {
  int64_t shard = shardRows(m, ranks);
  return std::clamp<int64_t>(m - rank * shard, 0, shard);
}

void checkPositive(const char* op, const char* name, int64_t value) {
  if (value < 1)
    throw Error(std::string("`") + op + "`: `" + name + "` is " + std::to_string(value) + ", at least 1 is needed");
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
    throw Error(std::string("`") + op + "`: `" + what + "` is " + name(t.dtype) + ", the operator was made for " +
                name(dtype));
}

void checkOperator(const char* op, int64_t maxM, int64_t n, int64_t k, DType dtype, const GemmConfig& config,
                   int widthParts) {
  checkPositive(op, "max_m", maxM);
  checkPositive(op, "n", n);
  checkPositive(op, "k", k);
  if (!isResult(dtype) && dtype != DType::Float8E4NV && dtype != DType::Float8E5)
    throw Error(std::string("`") + op + "`: fp16, bf16, fp32 or fp8 is needed, not " + name(dtype));
  checkTaken(op, config);
  checkTile(op, "block_m", config.blockM);
  checkWidth(op, config, widthParts);
  checkTile(op, "block_k", config.blockK);
  checkNotNegative(op, "programs", config.programs);
  checkNotNegative(op, "num_warps", config.numWarps);
  checkNotNegative(op, "num_stages", config.numStages);
  checkNotNegative(op, "group", config.group);
  checkNotNegative(op, "bands", config.bands);
  checkNotNegative(op, "slices", config.slices);
  checkNotNegative(op, "pieces", config.pieces);
  checkAtMost(op, "bands", config.bands, 1, kMostBands);
  checkAtMost(op, "pieces", config.pieces, 1, kMostPieces);
  checkAtMost(op, "chunks", config.chunks, 0, kMostChunks);
}

void checkResult(const char* op, const char* what, const Tensor& t) {
  if (!isResult(t.dtype))
    throw Error(std::string("`") + op + "`: `" + what + "` is " + name(t.dtype) + ", fp16, bf16 or fp32 is needed");
}

std::string madeFor(const char* op, int64_t maxM, int64_t n, int64_t k, DType dtype) {
  return std::string("`") + op + "` of up to " + std::to_string(maxM) + " x " + std::to_string(n) + " x " + std::to_string(k) +
         " " + name(dtype);
}

void checkRows(const char* op, int64_t m, int64_t maxM) {
  if (m < 1 || m > maxM)
    throw Error(std::string("`") + op + "`: `m` is " + std::to_string(m) + ", the operator was made for 1 to " +
                std::to_string(maxM));
}

}  // namespace tandem::ops
