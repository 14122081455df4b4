// The rules of a dialect's discardable attributes as a table.
#pragma once
#include <llvm/ADT/STLFunctionalExtras.h>
#include <mlir/IR/Operation.h>

namespace tandem::tile {

struct AttributeRule {
  llvm::StringRef name;
  bool (*isPlace)(mlir::Operation*);
  const char* place;  // for the message: "a kernel"
  bool (*isValue)(mlir::Operation*, mlir::Attribute);
  const char* value;
};

// Returns failure, with an error at `op`, if no rule has the attribute's name, or its own is broken.
llvm::LogicalResult verifyByRule(mlir::Operation* op, mlir::NamedAttribute attribute,
                                 llvm::ArrayRef<AttributeRule> rules);

}  // namespace tandem::tile
