// Values as the SSA values they are made of, so that branches and loops can carry them. Knows nothing of the syntax
// tree.
#pragma once
#include "compiler/frontend/emit/function.h"
#include <mlir/IR/Value.h>

namespace tandem::frontend {

// The SSA values inside `v`, in a fixed order.
void flatten(const Value& v, std::vector<mlir::Value>& out);
// Returns `pattern` with its SSA values replaced by those from `from` on; `from` moves on.
Value rebuild(const Value& pattern, const mlir::Value*& from);
// Returns a text that is equal for values that one loop variable may take in turn: types of carried values, values of
// constants.
std::string signature(const Value& v);
// Returns true if both have the same structure, the same constants and the same SSA values.
bool identical(const Value& a, const Value& b);
bool containsTensor(const Value& v);

// Aggregates are objects: branches work on copies. Maps an original to its copy.
using Clones = std::map<std::shared_ptr<Aggregate>, std::shared_ptr<Aggregate>>;
Locals cloneLocals(const Locals& locals, Clones& clones);

}  // namespace tandem::frontend
