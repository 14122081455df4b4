// How passes, the lowering and tools tell a kernel's author what they have done. Remarks go through MLIR's engine
// (mlir/IR/Remarks.h), which the driver listens to (compiler/driver/remarks.h); `tandem-opt --remarks-filter=.*` prints
// them.
#pragma once
#include "abi/remark.h"
#include <llvm/ADT/Twine.h>
#include <mlir/IR/Operation.h>

namespace tandem::remark {

using abi::RemarkKind;

// Says why something was not done, in the author's terms, and what the author can do about it; `help` may be empty.
// Both continue a sentence: lower case, no full stop.
struct Reason {
  std::string why, help;
};

// Where remarks come from: what they are about, and the pass or tool that decides it.
struct Source {
  RemarkKind kind;
  llvm::StringRef stage;
};

// Each remark has the place of `op`. What was done:
void passed(mlir::Operation* op, const Source& source, const llvm::Twine& message);
// Reports what was not done, and why.
void missed(mlir::Operation* op, const Source& source, const llvm::Twine& message, const Reason& reason);
// Reports a count.
void analysis(mlir::Operation* op, const Source& source, const llvm::Twine& message);

// "line 12": the op's innermost place in a file.
std::string lineOf(mlir::Operation* op);

}  // namespace tandem::remark
