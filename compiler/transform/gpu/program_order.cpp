// Turns axes and loops by a rank's share of them.
#include "compiler/transform/gpu/program_order.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/tile/tile.h"
#include <llvm/ADT/SmallSet.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::gpu {
using namespace mlir;
namespace {

constexpr unsigned kAxes = 3;

// The axes of the launch and the loops that deal tiles out to programs: they decide the order in which memory is
// accessed.
struct Orders {
  llvm::SmallSet<unsigned, 3> axes;
  llvm::SetVector<scf::ForOp> dealers;
};

// Returns true for a loop over tiles from the program's number on, which carries nothing from one tile to the next. Nothing else may know
// the number: a program that keeps something for itself must keep its tiles.
bool dealsTiles(scf::ForOp loop) {
  auto id = loop.getLowerBound().getDefiningOp<tile::ProgramIdOp>();
  if (!id || !id->hasOneUse() || !loop.getInitArgs().empty() || !loop.getInductionVar().getType().isInteger(32))
    return false;
  auto isAnother = [&](tile::ProgramIdOp other) {
    return other != id && other.getAxis() == id.getAxis() ? WalkResult::interrupt() : WalkResult::advance();
  };
  return !loop->getParentOfType<func::FuncOp>().walk(isAnother).wasInterrupted();
}

Orders ordersBehind(const llvm::SetVector<Value>& values) {
  Orders orders;
  llvm::DenseSet<Value> seen;
  SmallVector<Value> left(values.begin(), values.end());
  while (!left.empty()) {
    Value value = left.pop_back_val();
    if (!seen.insert(value).second) continue;
    Operation* op = value.getDefiningOp() ? value.getDefiningOp() : value.getParentBlock()->getParentOp();
    if (auto id = dyn_cast<tile::ProgramIdOp>(op)) orders.axes.insert(id.getAxis());
    auto loop = dyn_cast<scf::ForOp>(op);
    if (loop && loop.getInductionVar() == value && dealsTiles(loop))
      orders.dealers.insert(loop);
    else if (!isa<func::FuncOp>(op))
      left.append(op->operand_begin(), op->operand_end());
  }
  return orders;
}

// (number + (rank + distance) * count / ranks) mod count: all numbers below `count`, beginning at that rank's share.
Value fromShare(OpBuilder& builder, Location where, Value number, Value count, unsigned distance) {
  Value rank = dist::RankOp::create(builder, where, Value());
  if (distance)
    rank = arith::AddIOp::create(builder, where, rank, arith::ConstantIntOp::create(builder, where, distance, 32));
  Value ranks = dist::NumRanksOp::create(builder, where, Value());
  Value product = arith::MulIOp::create(builder, where, rank, count);
  Value share = arith::DivSIOp::create(builder, where, product, ranks);
  Value moved = arith::AddIOp::create(builder, where, number, share);
  return arith::RemSIOp::create(builder, where, moved, count);
}

void turnAxis(func::FuncOp kernel, unsigned axis, const ProgramOrder& order) {
  SmallVector<tile::ProgramIdOp> ids;
  kernel.walk([&](tile::ProgramIdOp id) {
    if (id.getAxis() == axis) ids.push_back(id);
  });
  Location where = ids.front().getLoc();
  remark::passed(ids.front(), order.remarks, "programs along axis " + Twine(axis) + " " + order.how);
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Value id = tile::ProgramIdOp::create(builder, where, axis), count = tile::NumProgramsOp::create(builder, where, axis);
  Value turned = fromShare(builder, where, id, count, order.distance);
  for (tile::ProgramIdOp old : ids) {
    old.getResult().replaceAllUsesWith(turned);
    old.erase();
  }
}

// All programs together go through all tiles if the step is their number; then they may do so in another order.
void turnDealer(scf::ForOp loop, const ProgramOrder& order) {
  Location where = loop.getLoc();
  remark::passed(loop, order.remarks, "tiles of this loop " + order.how);
  OpBuilder builder = OpBuilder::atBlockBegin(loop.getBody());
  unsigned axis = loop.getLowerBound().getDefiningOp<tile::ProgramIdOp>().getAxis();
  Value programs = tile::NumProgramsOp::create(builder, where, axis);
  Value areAll = arith::CmpIOp::create(builder, where, arith::CmpIPredicate::eq, programs, loop.getStep());
  Value none = arith::ConstantIntOp::create(builder, where, 0, 32);
  Value count =
      arith::MaxSIOp::create(builder, where, loop.getUpperBound(), none);  // the loop's bound is positive here
  Value turned = fromShare(builder, where, loop.getInductionVar(), count, order.distance);
  Value tile = arith::SelectOp::create(builder, where, areAll, turned, loop.getInductionVar());
  loop.getInductionVar().replaceUsesWithIf(tile, [&](OpOperand& use) {
    Operation* user = use.getOwner();
    return user != tile.getDefiningOp() && !turned.getDefiningOp()->getOperand(0).getDefiningOp()->isAncestor(user);
  });
}

// The program's number along an axis, of its place in the launch.
Value numberAlong(OpBuilder& builder, Location where, Value place, unsigned axis) {
  for (unsigned before = 0; before < axis; ++before)
    place = arith::DivSIOp::create(builder, where, place, tile::NumProgramsOp::create(builder, where, before));
  if (axis + 1 == kAxes) return place;
  return arith::RemSIOp::create(builder, where, place, tile::NumProgramsOp::create(builder, where, axis));
}

}  // namespace

Value placeInLaunch(OpBuilder& builder, Location where) {
  Value place = tile::ProgramIdOp::create(builder, where, kAxes - 1);
  for (unsigned axis = kAxes - 1; axis-- > 0;) {
    place = arith::MulIOp::create(builder, where, place, tile::NumProgramsOp::create(builder, where, axis));
    place = arith::AddIOp::create(builder, where, place, tile::ProgramIdOp::create(builder, where, axis));
  }
  return place;
}

LogicalResult orderPrograms(func::FuncOp kernel, bool anyOrder, const remark::Source& remarks) {
  SmallVector<dist::OrderedOp> ordered;
  SmallVector<tile::ProgramIdOp> ids;
  kernel.walk([&](dist::OrderedOp op) { ordered.push_back(op); });
  kernel.walk([&](tile::ProgramIdOp id) { ids.push_back(id); });
  if (ordered.empty() || !anyOrder) return dropOrders(kernel), success();
  Value order = ordered.front().getOrder();
  if (!isa<BlockArgument>(order)) return ordered.front().emitError("the programs' order is no argument of the kernel");
  if (!cast<tile::PtrType>(order.getType()).getPointee().isInteger(32))
    return ordered.front().emitError(
        "the programs' order is of 32-bit integers; those of 64 bits are for kernels that only count");
  remark::passed(ordered.front(), remarks, "programs have the numbers that a table says");
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Location where = ordered.front().getLoc();
  Value entry = tile::AddPtrOp::create(builder, where, order, placeInLaunch(builder, where));
  Value place = tile::LoadOp::create(builder, where, builder.getI32Type(), entry, Value(), Value(), tile::Cache::None,
                                     tile::Evict::Normal, false);
  // The numbers that it replaces are known not to be negative.
  place = arith::MaxSIOp::create(builder, where, place, arith::ConstantIntOp::create(builder, where, 0, 32));
  for (tile::ProgramIdOp id : ids) id.getResult().replaceAllUsesWith(numberAlong(builder, where, place, id.getAxis()));
  for (tile::ProgramIdOp id : ids) id.erase();
  dropOrders(kernel);
  return success();
}

void dropOrders(func::FuncOp kernel) {
  kernel.walk([](dist::OrderedOp op) {
    op.getResult().replaceAllUsesWith(op.getValue());
    op.erase();
  });
}

void turnPrograms(func::FuncOp kernel, const llvm::SetVector<Value>& decided, const ProgramOrder& order) {
  Orders orders = ordersBehind(decided);
  for (unsigned axis : orders.axes) turnAxis(kernel, axis, order);
  for (scf::ForOp loop : orders.dealers) turnDealer(loop, order);
}

}  // namespace tandem::transform::gpu
