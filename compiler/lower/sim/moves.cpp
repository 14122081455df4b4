// Copies between registers that happen at once: loop carries, yields, merged values.
#include "compiler/lower/sim/function_lowering.h"

namespace tandem::lower {
using namespace interpreter;

void FunctionLowering::emitMove(Move move, bool masked) {
  Elem elem = build_.type(move.from).elem;
  if (masked)
    build_.emit({Op::MaskedCopy, 0, elem}, {move.from}, {move.to});
  else if (build_.isLanes(move.to) && !build_.isLanes(move.from))
    build_.emit({Op::Splat, 0, elem}, {move.from}, {move.to});
  else
    build_.emit({Op::Copy, 0, elem}, {move.from}, {move.to});
}

// A masked copy keeps the other lanes' values, so they must have some.
void FunctionLowering::clear(llvm::ArrayRef<Register> registers) {
  for (Register r : registers)
    build_.emit({Op::Constant, 0, build_.type(r).elem}, {}, {r}, imm::Constant{.bits = 0, .isOffset = 0});
}

void FunctionLowering::moveAll(llvm::ArrayRef<Register> from, llvm::ArrayRef<Register> to, bool masked) {
  llvm::SmallVector<Move> pending;
  for (auto [source, target] : llvm::zip(from, to)) {
    if (source == target) continue;
    bool spread = masked && !build_.isLanes(source);
    pending.push_back({spread ? splatToLanes(source) : source, target});
  }
  while (!pending.empty()) {
    auto isSource = [&](Register r) { return llvm::any_of(pending, [&](const Move& m) { return m.from == r; }); };
    auto* ready = llvm::find_if(pending, [&](const Move& m) { return !isSource(m.to); });
    if (ready == pending.end()) {  // only cycles are left: save one target
      Register target = pending.front().to;
      Register saved = build_.newRegister(build_.type(target));
      emitMove({target, saved}, false);
      for (Move& m : pending)
        if (m.from == target) m.from = saved;
      ready = pending.begin();
    }
    emitMove(*ready, masked);
    pending.erase(ready);
  }
}

}  // namespace tandem::lower
