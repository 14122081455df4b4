// Ops that move no data between threads: each register of the result is a register of a source, or a function of its
// position.
#include "compiler/layout/shape.h"
#include "compiler/lower/gpu/convert.h"

namespace tandem::lower::gpu {
using namespace mlir;
namespace {

ArrayRef<int64_t> shapeOf(Value tile) { return cast<RankedTensorType>(tile.getType()).getShape(); }

}  // namespace

static Regs takeRegisters(KernelContext& cx, Value source, const LinearLayout& wanted, Operation* op) {
  auto from = layout::registersFor(wanted, cx.layoutOf(source));
  if (!from)
    cx.places.fail(op->getLoc(), "internal",
                   "`" + op->getName().getStringRef().str() + "` has layouts that do not match");
  Regs out;
  for (unsigned r : *from) out.push_back(cx.use(source)[r]);
  return out;
}

// Registers of the join come in pairs from the two operands, where bit 0 of the position says which.
static void lowerJoin(KernelContext& cx, tile::JoinOp op) {
  if (!isa<RankedTensorType>(op.getLhs().getType())) {
    LinearLayout layout = cx.layoutOf(op.getResult());
    Regs out;
    for (int64_t r = 0; r < layout.numRegisters(); ++r)
      out.push_back(cx.b.CreateSelect(cx.b.CreateTrunc(cx.position(layout, r), cx.b.getInt1Ty()),
                                      cx.useScalar(op.getRhs()), cx.useScalar(op.getLhs())));
    return cx.define(op.getResult(), out);
  }
  LinearLayout result = cx.layoutOf(op.getResult());
  Regs lhs = takeRegisters(cx, op.getLhs(), layout::projectJoin(result), op),
       rhs = takeRegisters(cx, op.getRhs(), layout::projectJoin(result), op), out;
  for (int64_t r = 0; r < result.numRegisters(); ++r) {
    llvm::Value* which = cx.b.CreateTrunc(cx.position(result, r), cx.b.getInt1Ty());
    out.push_back(cx.b.CreateSelect(which, rhs[r], lhs[r]));
  }
  cx.define(op.getResult(), out);
}

// The source holds both of each pair in one thread; a register of a half is the source's register with that half's bit.
static void lowerSplit(KernelContext& cx, tile::SplitOp op) {
  LinearLayout source = cx.layoutOf(op.getSource());
  if (!isa<RankedTensorType>(op.getLhs().getType())) {
    LinearLayout everywhere(source.shape(), {1}, layout::Bases(5, 0),
                            layout::Bases(source.bases(layout::Dim::Warp).size(), 0));
    Regs both =
        convertLayout(cx, cx.use(op.getSource()), source, everywhere, cx.typeOf(op.getLhs().getType()), op->getLoc());
    cx.define(op.getLhs(), {both[0]});
    cx.define(op.getRhs(), {both[1]});
    return;
  }
  LinearLayout half = cx.layoutOf(op.getLhs());
  Regs both = takeRegisters(cx, op.getSource(), layout::inferSplitSource(half), op), lhs, rhs;
  for (size_t r = 0; r < both.size(); r += 2) {
    lhs.push_back(both[r]);
    rhs.push_back(both[r + 1]);
  }
  cx.define(op.getLhs(), lhs);
  cx.define(op.getRhs(), rhs);
}

static void lowerCat(KernelContext& cx, tile::CatOp op) {
  LinearLayout result = cx.layoutOf(op.getResult());
  Regs lhs = takeRegisters(cx, op.getLhs(), layout::projectCat(result), op),
       rhs = takeRegisters(cx, op.getRhs(), layout::projectCat(result), op), out;
  for (int64_t r = 0; r < result.numRegisters(); ++r) {
    llvm::Value* second = cx.b.CreateICmpUGE(cx.position(result, r), cx.b.getInt32(result.numElements() / 2));
    out.push_back(cx.b.CreateSelect(second, rhs[r], lhs[r]));
  }
  cx.define(op.getResult(), out);
}

void registerShape(Lowerings& table) {
  table.on<tile::ProgramIdOp>([](KernelContext& cx, auto o) { cx.define(o.getResult(), {cx.programId(o.getAxis())}); });
  table.on<tile::NumProgramsOp>(
      [](KernelContext& cx, auto o) { cx.define(o.getResult(), {cx.emit.numBlocks(o.getAxis())}); });
  table.on<tile::MakeRangeOp>([](KernelContext& cx, auto o) {
    LinearLayout layout = cx.layoutOf(o.getResult());
    Regs out;
    for (int64_t r = 0; r < layout.numRegisters(); ++r)
      out.push_back(cx.b.CreateAdd(cx.position(layout, r), cx.b.getInt32(o.getStart())));
    cx.define(o.getResult(), out);
  });
  table.on<tile::SplatOp>([](KernelContext& cx, auto o) {
    cx.define(o.getResult(), Regs(cx.registersOf(o.getResult()), cx.useScalar(o.getSource())));
  });
  table.on<tile::ExpandDimsOp, tile::ReshapeOp>([](KernelContext& cx, auto o) {
    LinearLayout wanted = cx.layoutOf(o.getResult()).withShape(shapeOf(o.getSource()));
    cx.define(o.getResult(), takeRegisters(cx, o.getSource(), wanted, o));
  });
  table.on<tile::BroadcastOp>([](KernelContext& cx, auto o) {
    LinearLayout wanted = layout::projectBroadcast(cx.layoutOf(o.getResult()), shapeOf(o.getSource()));
    cx.define(o.getResult(), takeRegisters(cx, o.getSource(), wanted, o));
  });
  table.on<tile::PermuteOp>([](KernelContext& cx, auto o) {
    SmallVector<unsigned> order(o.getOrder().begin(), o.getOrder().end());
    LinearLayout wanted = layout::inferPermuteSource(cx.layoutOf(o.getResult()), order);
    cx.define(o.getResult(), takeRegisters(cx, o.getSource(), wanted, o));
  });
  table.on<tile::JoinOp>([](KernelContext& cx, auto o) { lowerJoin(cx, o); });
  table.on<tile::SplitOp>([](KernelContext& cx, auto o) { lowerSplit(cx, o); });
  table.on<tile::CatOp>([](KernelContext& cx, auto o) { lowerCat(cx, o); });
  table.on<tile::AddPtrOp>([](KernelContext& cx, auto o) {
    llvm::Type* pointee = cx.typeOf(cast<tile::PtrType>(getElementTypeOrSelf(o.getPointer().getType())).getPointee());
    if (pointee->isIntegerTy(1)) pointee = cx.b.getInt8Ty();
    cx.mapRegisters(o,
                    [&](Scalars v) { return cx.b.CreateGEP(pointee, v[0], cx.b.CreateSExt(v[1], cx.b.getInt64Ty())); });
  });
  table.on<tile::PtrToIntOp>([](KernelContext& cx, auto o) {
    cx.mapRegisters(o, [&](Scalars v) { return cx.b.CreatePtrToInt(v[0], cx.b.getInt64Ty()); });
  });
  table.on<tile::IntToPtrOp>([](KernelContext& cx, auto o) {
    cx.mapRegisters(o, [&](Scalars v) { return cx.b.CreateIntToPtr(v[0], cx.b.getPtrTy(1)); });
  });
  table.on<tile::BitcastOp>([](KernelContext& cx, auto o) {
    llvm::Type* to = cx.typeOf(o.getResult().getType());
    cx.mapRegisters(o, [&](Scalars v) { return cx.b.CreateBitCast(v[0], to); });
  });
}

}  // namespace tandem::lower::gpu
