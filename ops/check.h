// Argument checks shared by the operators; each throws Error that names operator, argument and both sizes.
#pragma once
#include "tandem/ops.h"

namespace tandem::ops {

// Into so many a tile may be cut along K.
constexpr int kMostPieces = 8;
// In so many bands of rows a shard travels.
constexpr int kMostBands = 8;
// In so many copies parts travel to a peer.
constexpr int kMostChunks = 64;

inline void checkOpen(const char* op, bool closed) {
  if (closed) throw Error(std::string("`") + op + "` is closed");
}
void checkPositive(const char* op, const char* name, int64_t value);
void checkShape(const char* op, const char* name, const Tensor& t, int64_t rows, int64_t columns);
void checkDType(const char* op, const char* what, const Tensor& t, DType dtype);
// The width of a tile of AllGather + GEMM is a sum of so many powers of two.
constexpr int kWidthParts = 3;
// Sizes positive, element type one that is multiplied, tile sizes powers of two (but for the width), nothing negative, nothing given that
// `op` ("ag_gemm", "gemm_rs", "gemm_ar") does not take.
void checkOperator(const char* op, int64_t maxM, int64_t n, int64_t k, DType dtype, const GemmConfig& config,
                   int widthParts = 1);
// For Team::openOperator: what all ranks say alike.
std::string madeFor(const char* op, int64_t maxM, int64_t n, int64_t k, DType dtype);
void checkRows(const char* op, int64_t m, int64_t maxM);
// The result of a product: fp16, bf16 or fp32.
void checkResult(const char* op, const char* what, const Tensor& t);

}  // namespace tandem::ops
