// Adding to signals in stream order: streams have no memory operation for it, so one small kernel does.
#pragma once
#include "runtime/backend/cuda/context.h"

namespace tandem::runtime::cuda {

class SignalAdd {
 public:
  explicit SignalAdd(int device);  // loads the kernel
  // `count` consecutive words of `bytes` (4 or 8), each released at system scope. Needs a multiprocessor for a moment.
  void launch(Stream stream, Address signal, int count, uint64_t value, int bytes) const;

 private:
  Function function_ = nullptr;
};

}  // namespace tandem::runtime::cuda
