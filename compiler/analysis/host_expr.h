// Values that the launcher can compute from the kernel's arguments.
#pragma once
#include "abi/kernel_image.h"
#include <mlir/IR/Builders.h>
#include <mlir/IR/Value.h>
#include <optional>

namespace tandem::analysis {

// Conditions of branches and selections that are taken to hold or not.
using Facts = llvm::SmallVector<std::pair<mlir::Value, bool>, 2>;

// Returns nothing if the value depends on more than arguments, constants and decided conditions. Tokens of waits change
// no value.
std::optional<abi::HostExpr> hostExpr(mlir::Value value, const Facts& facts = {});

// The condition that keeps hostExpr from knowing `value`: null when there is none, or something else does.
mlir::Value undecided(mlir::Value value, const Facts& facts);

// Computes a value that hostExpr knows from the arguments, at the place of `builder`.
mlir::Value computeAnew(mlir::Value value, const Facts& facts, mlir::OpBuilder& builder);

}  // namespace tandem::analysis
