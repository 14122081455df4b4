// Orders a block's instructions by what needs them where a thread has too few registers for all that is computed early.
#pragma once
#include "compiler/target/target_info.h"
#include <llvm/IR/Module.h>

namespace tandem::codegen {

// A tile's operation is lowered to one instruction for each element of a thread, so a chain of operations has all elements
// under way at once, and ptxas keeps near to the order that it finds. Where that holds more values than a thread has
// registers, what has no effect is computed just before what needs it, one element after the other, if far fewer are held then.
void computeLate(llvm::Module& module, const target::TargetInfo& target);

}  // namespace tandem::codegen
