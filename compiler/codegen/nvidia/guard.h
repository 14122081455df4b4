// Runs parts of LLVM so that its fatal errors, crashes and error diagnostics become CompileErrors.
#pragma once
#include "base/diagnostic.h"
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/LLVMContext.h>

namespace tandem::codegen {

// Runs `work`; false when a signal, such as an access to no memory, has ended it. What it was at is lost then: no destructor has run. What
// `work` throws passes through.
bool survives(llvm::function_ref<void()> work);

CompileError codegenError(std::string kind, std::string message);

// `stage` completes "could not ...". A CompileError thrown by `work` passes through; memory that LLVM held is lost on failure.
void guarded(const std::string& stage, llvm::LLVMContext& context, llvm::function_ref<void()> work);

}  // namespace tandem::codegen
