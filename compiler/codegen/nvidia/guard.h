// Runs parts of LLVM so that its fatal errors, crashes and error diagnostics become CompileErrors.
#pragma once
#include "base/diagnostic.h"
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/LLVMContext.h>

namespace tandem::codegen {

// LLVM's fatal errors and exhausted memory become exceptions, once for the process; LLVM takes no handlers twice.
void installFatalErrorHandlers();

// Runs `work`; returns false if a signal, such as that of a bad access, has ended it. The objects that it was working
// on are lost then: no destructor has run. Exceptions of `work` pass through.
bool survives(llvm::function_ref<void()> work);

CompileError codegenError(std::string kind, std::string message);

// `stage` completes "could not ...". A CompileError thrown by `work` passes through; memory that LLVM held is lost on
// failure.
void guarded(const std::string& stage, llvm::LLVMContext& context, llvm::function_ref<void()> work);

}  // namespace tandem::codegen
