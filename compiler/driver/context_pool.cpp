// One context a thread, renewed after some compilations because uniqued attributes and locations are never freed.
#include "compiler/driver/context_pool.h"
#include "compiler/frontend/emit/emit.h"

namespace tandem::compiler {
namespace {

constexpr int kMaxUses = 256;

struct Kept {
  std::unique_ptr<mlir::MLIRContext> context;
  int uses = 0;
};
thread_local Kept kept;

std::unique_ptr<mlir::MLIRContext> makeContext() {
  auto context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false);
  frontend::loadDialects(*context);
  return context;
}

}  // namespace

BorrowedContext::BorrowedContext() {
  context_ = std::move(kept.context);
  if (!context_ || ++kept.uses > kMaxUses) {
    context_ = makeContext();
    kept.uses = 1;
  }
}

BorrowedContext::~BorrowedContext() {
  if (context_) kept.context = std::move(context_);
}

// Destroying a context that an exception has interrupted may itself fail, so it is left alone.
void BorrowedContext::discard() { (void)context_.release(); }

}  // namespace tandem::compiler
