// Integer and pointer arithmetic over kernel arguments, as a postfix expression.
#include "compiler/transform/gpu/host_expr.h"
#include "compiler/dialect/tile/tile.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Matchers.h>

namespace tandem::transform::gpu {
using namespace mlir;
using abi::HostExpr;
using HostOp = abi::HostExpr::Op;
namespace {

std::optional<HostOp> binaryOf(Operation* op) {
  if (isa<arith::AddIOp>(op)) return HostOp::Add;
  if (isa<arith::SubIOp>(op)) return HostOp::Sub;
  if (isa<arith::MulIOp>(op)) return HostOp::Mul;
  if (isa<arith::DivSIOp>(op)) return HostOp::Div;
  if (isa<arith::RemSIOp>(op)) return HostOp::Rem;
  if (isa<arith::MinSIOp>(op)) return HostOp::Min;
  if (isa<arith::MaxSIOp>(op)) return HostOp::Max;
  return std::nullopt;
}

// False when a part is not known on the host. 32-bit arithmetic is taken not to overflow, as for addresses everywhere.
bool append(Value value, HostExpr& out, int depth) {
  if (depth > 32) return false;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return out.steps.push_back({HostOp::Constant, constant.getSExtValue()}), true;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (!isa<func::FuncOp>(argument.getOwner()->getParentOp()) || isa<FloatType>(argument.getType())) return false;
    return out.steps.push_back({HostOp::Argument, argument.getArgNumber()}), true;
  }
  Operation* op = value.getDefiningOp();
  if (isa<arith::ExtSIOp, arith::IndexCastOp>(op)) return append(op->getOperand(0), out, depth + 1);
  if (auto add = dyn_cast<tile::AddPtrOp>(op)) {
    Type pointee = cast<tile::PtrType>(add.getPointer().getType()).getPointee();
    if (!append(add.getPointer(), out, depth + 1) || !append(add.getOffset(), out, depth + 1)) return false;
    out.steps.push_back({HostOp::Constant, std::max<int64_t>(1, pointee.getIntOrFloatBitWidth() / 8)});
    out.steps.push_back({HostOp::Mul});
    return out.steps.push_back({HostOp::Add}), true;
  }
  std::optional<HostOp> binary = binaryOf(op);
  if (!binary || !append(op->getOperand(0), out, depth + 1) || !append(op->getOperand(1), out, depth + 1)) return false;
  return out.steps.push_back({*binary}), true;
}

}  // namespace

std::optional<HostExpr> hostExpr(Value value) {
  HostExpr out;
  if (!append(value, out, 0)) return std::nullopt;
  return out;
}

}  // namespace tandem::transform::gpu
