// The hook through which a detector sees every access and every synchronisation. None by default, at the cost of one
// test.
#pragma once
#include "interpreter/world.h"

namespace tandem::interpreter {

enum class AccessKind : uint8_t { Read, Write, Atomic };

struct MemoryAccess {
  int rank = 0;                       // who accesses, not where
  uint64_t runId = 0;                 // 0: a stream
  std::array<int32_t, 3> id{};
  const Program* program = nullptr;   // null: a stream
  uint32_t location = 0;
  uint32_t lane = 0;                  // thread of the first byte, for per-thread operations
  AccessKind kind{};
  Semantic semantic = Semantic::Relaxed;
  Scope scope = Scope::Gpu;
  bool synchronises = false;          // an atomic, a signal, or a non-weak ld/st: not itself a race
  Address address = 0;
  uint64_t bytes = 0;
};

class AccessObserver {
 public:
  virtual ~AccessObserver() = default;
  virtual void access(const MemoryAccess& access) = 0;
};

}  // namespace tandem::interpreter
