// A program cannot see how many threads run it, unless it has code for single threads or assembly that asks.
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tgpu/cluster.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/transform/nvidia/loop_registers.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/passes.h"
#include <llvm/Support/FormatVariadic.h>

namespace tandem::transform::nvidia {
using namespace mlir;
#define GEN_PASS_DEF_CHOOSEWARPS
#include "compiler/transform/nvidia/passes.h.inc"
namespace {

constexpr remark::Source kRemarks{remark::RemarkKind::Product, "choose-warps"};

// Assembly with effects may be a barrier of so many threads.
bool countsThreads(Operation* op) {
  auto code = dyn_cast<tile::InlineAsmOp>(op);
  bool asks = code && (!code.getPure() || code.getAssembly().contains("%ntid"));
  return asks || isa<simt::SimtDialect>(op->getDialect()) || tile::variesByThread(op);
}

bool countsThreads(func::FuncOp kernel) {
  return kernel.walk([](Operation* op) { return countsThreads(op) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

bool isTile(Type type) { return isa<RankedTensorType>(type); }

// Returns true if one thread may do what `op` does for its program.
bool isOfNumbers(Operation* op) {
  if (llvm::any_of(op->getOperandTypes(), isTile) || llvm::any_of(op->getResultTypes(), isTile)) return false;
  if (isa<tile::LoadOp, tile::StoreOp, tile::AtomicRmwOp, tile::AtomicCasOp, tile::AssumeOp>(op)) return true;
  if (isa<scf::SCFDialect>(op->getDialect()) || op->hasTrait<OpTrait::IsTerminator>()) return true;
  return isMemoryEffectFree(op) && !tile::variesByThread(op) && !isa<tile::InlineAsmOp>(op);
}

// Returns true if a program stores and computes with numbers alone, so that every thread would compute the same, the first one
// store it, and all meet before they load it.
bool isOfNumbers(func::FuncOp kernel) {
  bool stores = false;
  WalkResult walked = kernel.getBody().walk([&](Operation* op) {
    stores |= isa<tile::StoreOp, tile::AtomicRmwOp, tile::AtomicCasOp>(op);
    return isOfNumbers(op) ? WalkResult::advance() : WalkResult::interrupt();
  });
  return stores && !walked.wasInterrupted();
}

// A thread sees its own stores and loads in order.
void leaveToFirstThread(func::FuncOp kernel) {
  Block& body = kernel.getBody().front();
  Operation* end = body.getTerminator();
  OpBuilder builder(kernel.getContext());
  builder.setInsertionPointToStart(&body);
  Location loc = kernel.getLoc();
  Value thread = simt::TidOp::create(builder, loc, builder.getI32Type(), 0u);
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, thread, zero);
  auto branch = scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
  Block::OpListType& program = branch.thenBlock()->getOperations();
  program.splice(program.begin(), body.getOperations(), std::next(branch->getIterator()), end->getIterator());
  tile::setNumWarps(kernel, 1);
}

struct ChooseWarps : impl::ChooseWarpsBase<ChooseWarps> {
  using Base::Base;
  void runOnOperation() override {
    if (isOfNumbers(getOperation()) && tgpu::blocksOf(getOperation()) == 1) return leaveToFirstThread(getOperation());
    constexpr int kFew = target::kWgmma.warps, kMany = 2 * kFew;
    func::FuncOp kernel = getOperation();
    const target::TargetInfo* gpu = targetOf(target);
    if (!gpu || tile::numWarps(kernel) != kFew || tile::maxRegisters(kernel) || countsThreads(kernel)) return;
    bool changes = false;
    kernel.walk([&](tile::DotOp dot) {
      int64_t sums = sumsOfThread(dot, kFew);
      if (sums < kRegistersOfThread || !fitsWgmma(dot, kMany, *gpu)) return;
      changes = true;
      remark::passed(
          dot, kRemarks,
          llvm::formatv("{0} warps instead of {1}: the sums would take {2} registers of a thread", kMany, kFew, sums)
              .str());
    });
    // A loop needs the registers of what it carries and of its products' results at once.
    kernel.walk([&](scf::ForOp loop) {
      auto dots = loop.getBody()->getOps<tile::DotOp>();
      int64_t registers = registersOfLoop(loop, kFew);
      bool fit = llvm::all_of(
          dots, [&](tile::DotOp dot) { return fitsWgmma(dot, kMany, *gpu) || !fitsWgmma(dot, kFew, *gpu); });
      bool uses = llvm::any_of(dots, [&](tile::DotOp dot) { return fitsWgmma(dot, kMany, *gpu); });
      if (!fit || !uses || registers < kRegistersOfThread) return;
      changes = true;
      const char* text = "{0} warps instead of {1}: tiles of this loop would take {2} registers of a thread";
      remark::passed(loop, kRemarks, llvm::formatv(text, kMany, kFew, registers).str());
    });
    if (changes) tile::setNumWarps(kernel, kMany);
  }
};

}  // namespace
}  // namespace tandem::transform::nvidia
