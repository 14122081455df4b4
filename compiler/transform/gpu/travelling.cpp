// Reads accesses of memory that travels, and goes through the words of its chunks.
#include "compiler/transform/gpu/travelling.h"
#include "compiler/transform/gpu/count_loops.h"
#include "compiler/transform/gpu/tile_bounds.h"
#include "compiler/transform/gpu/waits.h"
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::transform::gpu {
using namespace mlir;

InFlightDiagnostic refuse(Operation* access, Operation* memory, StringRef why) {
  InFlightDiagnostic error = access->emitError(why);
  error.attachNote(memory->getLoc()) << "it is this memory";
  return error;
}

// The op that computes a value, or the loop that carries it.
static Operation* originOf(Value value) {
  Operation* op = value.getDefiningOp() ? value.getDefiningOp() : value.getParentBlock()->getParentOp();
  return isa<func::FuncOp>(op) ? nullptr : op;
}

// Looks through casts of a pointer to elements of as many bytes, which lie where those of its own type do.
static Value behindCasts(Value pointer) {
  while (auto cast = pointer.getDefiningOp<tile::BitcastOp>()) {
    if (analysis::pointeeBytes(cast.getSource().getType()) != analysis::pointeeBytes(pointer.getType())) break;
    pointer = cast.getSource();
  }
  return pointer;
}

// Tells why the places of an access are not known beyond an op.
static StringRef reasonOf(Operation* stop) {
  if (isa<tile::LoadOp, tile::BlockLoadOp>(stop))
    return ", which is loaded: nobody knows whose rows a table names until it is read. Run this kernel before or behind "
           "the collective, not beside it";
  if (isa<arith::SelectOp, scf::IfOp>(stop))
    return ", which chooses among several matrices: access each of them under a condition of its own";
  return ": they may be made of arguments, programs' numbers and loops' counters by sums, products, quotients, "
         "remainders, minima and choices of signed integers, as pointers to elements of the matrix";
}

// `base` is where the places begin, if they are known from there on.
static void refusePlaces(Operation* access, Operation* memory, Value base, StringRef why) {
  InFlightDiagnostic error = refuse(access, memory, why);
  Operation* stop = unfollowed(access->getOperand(0), access);
  if (!stop && base) stop = originOf(base);
  if (stop) error.attachNote(stop->getLoc()) << "its places cannot be followed beyond this" << reasonOf(stop);
}

llvm::SetVector<Operation*> unreadUpdates(func::FuncOp kernel) {
  llvm::SetVector<Operation*> updates;
  kernel.walk([&](tile::AtomicRmwOp update) {
    if (update.use_empty()) updates.insert(update);
  });
  return updates;
}

bool countLoops(func::FuncOp kernel) {
  bool any = false;
  kernel.walk([&](scf::WhileOp loop) { any |= countLoop(loop); });
  return any;
}

std::optional<std::vector<TravellingAccess>> accessesOf(Operation* memory, const TravellingErrors& errors,
                                                        llvm::function_ref<bool(Operation*)> mayUse) {
  Value pointer = memory->getResult(0);
  std::optional<llvm::SetVector<Operation*>> ops = reachedBy(pointer);
  if (!ops) return memory->emitError(errors.decides), std::nullopt;
  analysis::AxisInfoAnalysis axes(memory->getParentOfType<func::FuncOp>());
  std::vector<TravellingAccess> accesses;
  for (Operation* op : *ops) {
    if (!mayUse(op)) return refuse(op, memory, errors.forbidden), std::nullopt;
    std::optional<analysis::StridedAccess> access = accessOf(op, axes);
    Value base = access ? access->base : Value();
    if (base && behindCasts(base) != pointer && isa<RankedTensorType>(op->getOperand(0).getType()))
      access = boundsOf(op->getOperand(0), op);  // the base may be chosen among places of the matrix
    if (!access || behindCasts(access->base) != pointer)
      return refusePlaces(op, memory, base, errors.noBox), std::nullopt;
    accesses.push_back({op, *access});
  }
  return accesses;
}

std::pair<Value, Value> chunksIn(OpBuilder& builder, Location where, const ElementRange& range, const Chunks& chunks) {
  Value zero = arith::ConstantIntOp::create(builder, where, 0, 64),
        one = arith::ConstantIntOp::create(builder, where, 1, 64);
  auto chunkOf = [&](Value element) {
    Value inside = arith::MaxSIOp::create(builder, where, element, zero);
    return arith::DivSIOp::create(builder, where, inside, chunks.chunk).getResult();
  };
  Value first = chunkOf(range.first);
  Value end = arith::AddIOp::create(builder, where, chunkOf(range.last), one);
  end = arith::MinSIOp::create(builder, where, end, chunks.count);
  if (range.exists) end = arith::SelectOp::create(builder, where, range.exists, end, first);
  return {first, end};
}

Value eachChunk(OpBuilder& builder, Location where, const ElementRange& range, const Chunks& chunks, Value carried,
                llvm::function_ref<Value(OpBuilder&, Value, Value)> body) {
  auto [first, end] = chunksIn(builder, where, range, chunks);
  return eachChunk(builder, where, first, end, chunks.words, carried, body);
}

Value eachChunk(OpBuilder& builder, Location where, Value begin, Value end, Value words, Value carried,
                llvm::function_ref<Value(OpBuilder&, Value, Value)> body) {
  Value one = arith::ConstantIntOp::create(builder, where, 1, 64);
  auto loop = scf::ForOp::create(builder, where, begin, end, one, carried ? ValueRange{carried} : ValueRange{});
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  Value word = tile::AddPtrOp::create(inner, where, words, loop.getInductionVar());
  Value next = body(inner, word, carried ? loop.getRegionIterArg(0) : Value());
  if (!carried) return {};
  scf::YieldOp::create(inner, where, next);
  return loop.getResult(0);
}

}  // namespace tandem::transform::gpu
