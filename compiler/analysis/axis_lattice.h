// These conclusions from an AxisInfo need not know the op that made the value: weaker claims, either of two, the type's
// own limits.
#pragma once
#include "compiler/analysis/axis_info.h"

namespace tandem::analysis {

// The divisor of zero: a multiple of every power of two that matters.
constexpr int64_t kDividesAll = int64_t(1) << 62;

// The largest power of two that divides `value`.
int64_t powerOfTwoIn(int64_t value);
// The product of two powers of two, at most kDividesAll.
int64_t timesPowers(int64_t a, int64_t b);

// Integers, indices and pointers, alone or in a tile of static shape.
bool isTracked(mlir::Type type);
AxisInfo unknownInfo(mlir::Type type);
AxisInfo constantInfo(mlir::Type type, int64_t value);

// Returns a divisor of the first value of every aligned run of `run` values; consecutive values are `unit` apart.
int64_t startDivisibility(const DimInfo& dim, int64_t run, int64_t unit = 1);
// 1 for integers; the bytes of an element for pointers.
int64_t unitOf(mlir::Type type);
// The claim for runs of `run`, which is no longer than the runs of `dim`.
DimInfo withRuns(const DimInfo& dim, int64_t run, int64_t unit);
// Returns the facts that hold of a value that is either `a` or `b`.
AxisInfo joined(const AxisInfo& a, const AxisInfo& b, mlir::Type type);
// Fits runs to the type's shape, and applies a fact that one dimension has for every element to the others.
AxisInfo settled(AxisInfo info, mlir::Type type);

}  // namespace tandem::analysis
