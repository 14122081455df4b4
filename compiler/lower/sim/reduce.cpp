// tile.reduce, scan and map_elementwise. Their functions become regions, whose code follows the main code.
#include "compiler/dialect/tile/tile.h"
#include "compiler/lower/sim/elementwise_table.h"
#include "compiler/lower/sim/function_lowering.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower {
using namespace mlir;
using namespace interpreter;
namespace {

// The op of a function of two arguments that is just one op on them in order.
std::optional<BinaryOp> onlyOp(Block& block) {
  if (block.getNumArguments() != 2 || !llvm::hasNItems(block, 2)) return std::nullopt;
  Operation &op = block.front(), &yield = block.back();
  std::optional<BinaryOp> binary = binaryOpOf(&op);
  bool inOrder = binary && op.getOperand(0) == block.getArgument(0) && op.getOperand(1) == block.getArgument(1);
  if (!inOrder || yield.getNumOperands() != 1 || yield.getOperand(0) != op.getResult(0)) return std::nullopt;
  return binary;
}

}  // namespace

bool FunctionLowering::lowerReduction(Operation* op) {
  auto emit = [&](Op code, ArrayRef<int64_t> immediates) {
    return emitPlain(op, {code, 0, elem(op->getOperand(0))}, immediates), true;
  };
  if (isa<tile::ReduceOp, tile::ScanOp, tile::MapElementwiseOp>(op) && op->getNumOperands() == 0) failUnsupported(op);
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<tile::ReduceOp>(
          [&](auto o) { return emit(Op::Reduce, imm::Reduce{.axis = o.getAxis(), .region = newRegion(o)}); })
      .Case<tile::ScanOp>([&](auto o) {
        return emit(Op::Scan, imm::Scan{.axis = o.getAxis(), .region = newRegion(o), .reverse = o.getReverse()});
      })
      .Case<tile::MapElementwiseOp>([&](auto o) {
        return emit(Op::MapElementwise, imm::MapElementwise{.pack = o.getPack(), .region = newRegion(o)});
      })
      .Default([](Operation*) { return false; });
}

int64_t FunctionLowering::newRegion(Operation* op) {
  if (op->getRegion(0).empty()) failUnsupported(op);
  pendingRegions_.push_back(op);
  program_.regions.emplace_back();
  return program_.regions.size() - 1;
}

void FunctionLowering::lowerPendingRegions() {
  for (size_t i = 0; i < pendingRegions_.size(); ++i) {
    interpreter::Region region;
    build_.setLocation(locations_.indexOf(pendingRegions_[i]->getLoc()));
    lowerRegionBody(pendingRegions_[i], region);
    program_.regions[i] = std::move(region);
  }
}

void FunctionLowering::lowerRegionBody(Operation* op, interpreter::Region& region) {
  Block& block = op->getRegion(0).front();
  combine_ = op;
  region.begin = build_.pc();
  for (BlockArgument argument : block.getArguments()) region.arguments.push_back(define(argument));
  lowerBlock(block);
  for (Value value : block.getTerminator()->getOperands()) {
    Register reg = useLanes(value);
    bool isTaken = llvm::is_contained(region.arguments, reg) || llvm::is_contained(region.results, reg);
    if (isTaken) {  // each result has a register of its own
      Register copy = build_.newRegister(build_.type(reg));
      emitMove({reg, copy}, false);
      reg = copy;
    }
    region.results.push_back(reg);
  }
  region.end = build_.pc();
  if (std::optional<BinaryOp> binary = onlyOp(block)) region.binary = static_cast<uint8_t>(*binary);
  combine_ = nullptr;
}

}  // namespace tandem::lower
