// The program's number is read as a row and a column of tiles; the pass makes another number of it, and with it both.
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/tile/tile.h"
#include "compiler/remark/remark.h"
#include "compiler/transform/gpu/passes.h"
#include "compiler/transform/gpu/waits.h"
#include <llvm/ADT/DenseSet.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::gpu {
using namespace mlir;
#define GEN_PASS_DEF_GROUPPROGRAMS
#include "compiler/transform/gpu/passes.h.inc"
namespace {

constexpr remark::Source kRemarks{remark::RemarkKind::Load, "group-programs"};
constexpr int64_t kHeight = 8;  // rows of tiles in a group, as tutorials have it

// The number's quotient and remainder by one divisor, and nothing else of it.
struct Places {
  tile::ProgramIdOp id;
  Value columns;
  arith::DivSIOp row;
  arith::RemSIOp column;
};

std::optional<Places> placesOf(func::FuncOp kernel) {
  Places places;
  bool isRead = true;
  kernel.walk([&](tile::ProgramIdOp id) {
    if (id.getAxis() != 0) return;
    isRead &= !places.id;
    places.id = id;
  });
  if (!isRead || !places.id) return std::nullopt;
  for (Operation* user : places.id->getUsers()) {
    auto row = dyn_cast<arith::DivSIOp>(user);
    auto column = dyn_cast<arith::RemSIOp>(user);
    if ((!row && !column) || (row ? bool(places.row) : bool(places.column)) ||
        user->getOperand(0) != places.id.getResult() || user->getOperand(1) == places.id.getResult())
      return std::nullopt;
    if (places.columns && places.columns != user->getOperand(1)) return std::nullopt;
    places.columns = user->getOperand(1);
    if (row) places.row = row;
    if (column) places.column = column;
  }
  if (!places.row || !places.column || places.row->getBlock() != places.column->getBlock()) return std::nullopt;
  return places;
}

// Which of the two an operand's addresses are made of.
struct Reach {
  bool row = false, column = false;
};

Reach reachOf(Operation* load, Places places) {
  Reach reach;
  llvm::DenseSet<Value> seen;
  SmallVector<Value> left(load->getOperands());
  while (!left.empty()) {
    Value value = left.pop_back_val();
    if (!seen.insert(value).second) continue;
    reach.row |= value == places.row.getResult();
    reach.column |= value == places.column.getResult();
    Operation* op = value.getDefiningOp();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop || argument == loop.getInductionVar()) continue;
      left.push_back(loop.getTiedLoopInit(argument)->get());
      left.push_back(loop.getTiedLoopYieldedValue(argument)->get());
    } else if (op != places.row && op != places.column) {
      left.append(op->operand_begin(), op->operand_end());
    }
  }
  return reach;
}

Operation* loadBehind(Value operand) {
  while (Operation* op = operand.getDefiningOp()) {
    if (isa<tile::LoadOp, tile::BlockLoadOp>(op)) return op;
    bool isForm = isa<tile::PermuteOp, tile::FpToFpOp, tile::ReshapeOp>(op) || op->hasTrait<OpTrait::Elementwise>();
    if (!isForm || op->getNumOperands() != 1) return nullptr;
    operand = op->getOperand(0);
  }
  return nullptr;
}

// Returns true for a product in a loop of which one operand is of the row alone and the other of the column alone.
bool isOfMatrices(tile::DotOp dot, Places places) {
  Operation *lhs = loadBehind(dot.getLhs()), *rhs = loadBehind(dot.getRhs());
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  if (!loop || !lhs || !rhs || lhs->getParentOp() != loop || rhs->getParentOp() != loop) return false;
  Reach left = reachOf(lhs, places), right = reachOf(rhs, places);
  return left.row != left.column && right.row != right.column && left.row == right.column;
}

// A group of an overlapped call lies in one rank's share, so that shares still come one after the other.
bool isOverlapped(func::FuncOp kernel) {
  return kernel
      .walk([](Operation* op) {
        return isa<dist::ArrivingOp, dist::LeavingOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

void group(func::FuncOp kernel, Places places) {
  Operation* first = places.row->isBeforeInBlock(places.column) ? places.row.getOperation() : places.column;
  OpBuilder builder(first);
  Location where = first->getLoc();
  auto number = [&](int64_t value) { return arith::ConstantIntOp::create(builder, where, value, 32).getResult(); };
  auto make = [&]<typename Op>(Value l, Value r) { return Op::create(builder, where, l, r).getResult(); };
  auto add = [&](Value l, Value r) { return make.operator()<arith::AddIOp>(l, r); };
  auto sub = [&](Value l, Value r) { return make.operator()<arith::SubIOp>(l, r); };
  auto mul = [&](Value l, Value r) { return make.operator()<arith::MulIOp>(l, r); };
  auto div = [&](Value l, Value r) { return make.operator()<arith::DivSIOp>(l, r); };
  auto rem = [&](Value l, Value r) { return make.operator()<arith::RemSIOp>(l, r); };
  auto most = [&](Value l, Value r) { return make.operator()<arith::MaxSIOp>(l, r); };
  auto least = [&](Value l, Value r) { return make.operator()<arith::MinSIOp>(l, r); };
  Value id = places.id, columns = places.columns, one = number(1), height = number(kHeight);
  Value rows = div(tile::NumProgramsOp::create(builder, where, 0), columns);
  if (isOverlapped(kernel)) {
    Value share = div(rows, dist::NumRanksOp::create(builder, where, Value()));
    height = most(least(height, share), one);
  }
  Value ofGroup = mul(height, columns), above = mul(div(id, ofGroup), height), within = rem(id, ofGroup);
  Value own = most(least(sub(rows, above), height), one);
  Value row = add(above, rem(within, own)), column = div(within, own);
  // Programs behind the last whole row stay where they are.
  Value isWhole = arith::CmpIOp::create(builder, where, arith::CmpIPredicate::slt, id, mul(rows, columns));
  Value oldRow = div(id, columns), oldColumn = rem(id, columns);
  places.row.replaceAllUsesWith(arith::SelectOp::create(builder, where, isWhole, row, oldRow).getResult());
  places.column.replaceAllUsesWith(arith::SelectOp::create(builder, where, isWhole, column, oldColumn).getResult());
  places.row->erase();
  places.column->erase();
}

struct GroupPrograms : impl::GroupProgramsBase<GroupPrograms> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (mayWaitForOthers(kernel)) return;
    std::optional<Places> places = placesOf(kernel);
    if (!places) return;
    bool multiplies = false;
    kernel.walk([&](tile::DotOp dot) { multiplies |= isOfMatrices(dot, *places); });
    if (!multiplies) return;
    remark::passed(places->id, kRemarks, "programs go through its tiles in groups of " + Twine(kHeight) + " rows");
    group(kernel, *places);
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
