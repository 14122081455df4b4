// Contexts are renewed after some compilations because uniqued attributes and locations are never freed.
#include "compiler/driver/context_pool.h"
#include "compiler/frontend/emit/emit.h"
#include <mutex>
#include <vector>

namespace tandem::compiler {
namespace {

constexpr int kMaxUses = 256;

struct Pool {
  struct Kept {
    std::unique_ptr<mlir::MLIRContext> context;
    int uses = 0;
  };
  std::mutex mutex;
  std::vector<Kept> free;  // the one used last is the last
};
// It is never destroyed: threads may compile until the process ends.
Pool& pool() {
  static Pool* made = new Pool;
  return *made;
}

std::unique_ptr<mlir::MLIRContext> makeContext() {
  auto context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false);
  frontend::loadDialects(*context);
  return context;
}

}  // namespace

BorrowedContext::BorrowedContext() {
  {
    std::lock_guard lock(pool().mutex);
    if (auto& free = pool().free; !free.empty()) {
      context_ = std::move(free.back().context);
      uses_ = free.back().uses;
      free.pop_back();
    }
  }
  if (!context_) context_ = makeContext();
  ++uses_;
}

BorrowedContext::~BorrowedContext() {
  if (!context_ || uses_ >= kMaxUses) return;
  std::lock_guard lock(pool().mutex);
  pool().free.push_back({std::move(context_), uses_});
}

// Destroying a context that an exception has interrupted may itself fail, so it is left alone.
void BorrowedContext::discard() { (void)context_.release(); }

}  // namespace tandem::compiler
