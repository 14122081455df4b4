// Entry of the room: arguments, then the body op by op, then the last uses.
#include "compiler/lower/sim/lower.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/lower/sim/early_loads.h"
#include "compiler/lower/sim/function_lowering.h"
#include "compiler/lower/sim/last_use.h"
#include "compiler/lower/sim/types.h"
#include <llvm/ADT/StringMap.h>

namespace tandem::lower {
using namespace mlir;
using namespace interpreter;
namespace {

// The instruction of an op that has no case of its own: of the op's name and without immediates, for an op of ours
// without attributes and regions. Its operands are the op's, in their order; an op with optional operands needs a case,
// for a missing one is kNone.
std::optional<Op> instructionOf(Operation* op) {
  static const llvm::StringMap<Op> byWord = [] {
    llvm::StringMap<Op> map;
    for (size_t i = 0; i < std::size(kOps); ++i)
      if (kOps[i].immediates.empty()) map[llvm::StringRef(kOps[i].word.data(), kOps[i].word.size())] = Op(i);
    return map;
  }();
  if (!isa<tile::TileDialect, dist::DistDialect, simt::SimtDialect>(op->getDialect())) return std::nullopt;
  if (op->getNumRegions() || !op->getName().getAttributeNames().empty()) return std::nullopt;
  auto found = byWord.find(op->getName().stripDialect());
  return found == byWord.end() ? std::nullopt : std::optional(found->second);
}

bool accessesForProgram(Operation* op) {
  std::optional<tile::Concurrency> does = tile::concurrencyOf(op);
  return does && llvm::any_of(does->accesses, [](const tile::MemoryAccess& access) {
           return access.order == tile::AccessOrder::Program;
         });
}

}  // namespace

std::shared_ptr<Program> lowerToProgram(func::FuncOp kernel, const std::vector<SourceFilePtr>& files) {
  auto program = std::make_shared<Program>();
  program->name = kernel.getName().str();
  Locations locations(*program, files);
  locations.setFallback(kernel.getLoc());
  if (kernel.isExternal()) locations.fail(kernel, "unsupported", "`" + program->name + "` has no body");
  if (!kernel.getBody().hasOneBlock())
    locations.fail(kernel, "unsupported",
                   "the simulator cannot run unstructured control flow in `" + program->name + "`");
  Divergence divergence(kernel, locations);
  FunctionLowering(*program, locations, divergence).run(kernel);
  program->earlyLoads = findEarlyLoads(kernel, locations);
  markLastUses(*program);
  return program;
}

void FunctionLowering::run(func::FuncOp kernel) {
  build_.setLocation(locations_.indexOf(kernel.getLoc()));
  lowerArguments(kernel);
  Block& body = kernel.getBody().front();
  lowerBlock(body);
  Operation* end = body.getTerminator();
  if (!isa<func::ReturnOp>(end)) failUnsupported(end);
  if (end->getNumOperands() != 0) locations_.fail(end, "unsupported", "a kernel cannot return a value");
  build_.setLocation(locations_.indexOf(end->getLoc()));
  build_.emit({Op::Return}, {}, {});
  lowerPendingRegions();
}

void FunctionLowering::lowerArguments(func::FuncOp kernel) {
  for (BlockArgument value : kernel.getArguments()) {
    Argument argument;
    StringAttr name = tile::nameOf(value);
    argument.name = name ? name.str() : "arg" + std::to_string(value.getArgNumber());
    if (isTileOrBuffer(value.getType()) || isa<VectorType>(value.getType()))
      locations_.fail(value.getLoc(), "unsupported", "argument `" + argument.name + "` must be a number or a pointer");
    argument.reg = define(value);
    argument.elem = build_.type(argument.reg).elem;
    if (auto pointer = dyn_cast<tile::PtrType>(value.getType())) {
      argument.isPointer = true;
      std::optional<Elem> pointee = elemOf(pointer.getPointee());
      if (!pointee)
        locations_.fail(value.getLoc(), "unsupported",
                        "argument `" + argument.name + "` points to a type the simulator has not");
      argument.pointee = *pointee;
    }
    program_.arguments.push_back(std::move(argument));
  }
}

void FunctionLowering::lowerBlock(Block& block) {
  for (Operation& op : block.without_terminator()) lowerOp(&op);
}

void FunctionLowering::lowerOp(Operation* op) {
  uint32_t outer = build_.location();
  build_.setLocation(locations_.indexOf(op->getLoc()));
  checkPlace(op);
  bool done = lowerArith(op) || lowerMath(op) || lowerControl(op) || lowerTileShape(op) || lowerTilePointer(op) ||
              lowerTileMemory(op) || lowerReduction(op) || lowerTileDebug(op) || lowerDist(op) || lowerSimt(op);
  if (std::optional<Op> plain = done ? std::nullopt : instructionOf(op)) {
    emitPlain(op, {*plain, 0, op->getNumOperands() ? elem(op->getOperand(0)) : elem(op->getResult(0))});
    done = true;
  }
  if (!done) failUnsupported(op);
  if (!combine_ && isa<simt::SimtDialect>(op->getDialect())) program_.perThread = true;
  build_.setLocation(outer);
}

// A tile belongs to all threads: it can be moved neither by some of them nor inside a reduction's function.
void FunctionLowering::checkPlace(Operation* op) {
  auto holdsTile = [](TypeRange types) { return llvm::any_of(types, isTileOrBuffer); };
  bool usesTile = llvm::any_of(op->getOperandTypes(), isTile) || llvm::any_of(op->getResultTypes(), isTile);
  if (combine_ && (holdsTile(op->getOperandTypes()) || holdsTile(op->getResultTypes())))
    locations_.fail(op, "unsupported",
                    "a tile cannot be used inside the function of `" + combine_->getName().getStringRef().str() + "`");
  if (combine_ && isa<simt::SimtDialect>(op->getDialect()))
    locations_.fail(op, "unsupported",
                    "`" + op->getName().getStringRef().str() + "` cannot stand inside the function of `" +
                        combine_->getName().getStringRef().str() + "`");
  if (maskDepth_ && usesTile && accessesForProgram(op))
    locations_.fail(op, "thread-dependent-tile",
                    "`" + op->getName().getStringRef().str() +
                        "` of a tile cannot stand under a condition that depends on the thread index");
}

void FunctionLowering::failUnsupported(Operation* op) {
  locations_.fail(op, "unsupported", "the simulator cannot run `" + op->getName().getStringRef().str() + "`");
}

}  // namespace tandem::lower
