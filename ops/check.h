// Argument checks shared by the operators; each throws Error that names operator, argument and both sizes.
#pragma once
#include "tandem/ops.h"

namespace tandem::ops {

void checkShape(const char* op, const char* name, const Tensor& t, int64_t rows, int64_t columns);
void checkDType(const char* op, const char* what, const Tensor& t, DType dtype);
// Sizes positive, element type fp16, bf16 or fp32, tile sizes powers of two, at least one program.
void checkOperator(const char* op, int64_t maxM, int64_t n, int64_t k, DType dtype, const GemmConfig& config);
void checkRows(const char* op, int64_t m, int64_t maxM);

}  // namespace tandem::ops
