// Argument checks shared by the operators; each throws Error that names operator, argument and both sizes.
#pragma once
#include "tandem/team.h"

namespace tandem::ops {

void checkShape(const char* op, const char* name, const Tensor& t, int64_t rows, int64_t columns);
void checkDType(const char* op, const char* what, const Tensor& t, DType dtype);
void checkRows(const char* op, int64_t m, int64_t maxM);

}  // namespace tandem::ops
