// Asynchronous products of warpgroups: descriptors of operands in shared memory, one instruction for each slice of K.
#include "compiler/analysis/zeros.h"
#include "compiler/dialect/tgpu/products.h"
#include "compiler/layout/distributed.h"
#include "compiler/layout/matrix_descriptor.h"
#include "compiler/lower/nvidia/copies.h"
#include "compiler/lower/nvidia/matrix.h"
#include "compiler/lower/nvidia/roles.h"

namespace tandem::lower::nvidia {
using namespace mlir;
namespace {

ptx::Element elementOf(mlir::Type type) {
  using E = ptx::Element;
  if (type.isF16()) return E::F16;
  if (type.isBF16()) return E::BF16;
  if (type.isF32()) return E::TF32;
  if (isa<Float8E4M3FNType>(type)) return E::E4M3;
  if (isa<Float8E5M2Type>(type)) return E::E5M2;
  return E::S8;
}

// Returns true if the wait leaves only products under way that were started after its own: a carried one before all of
// this block.
bool completes(tgpu::WgmmaWaitOp wait) {
  if (wait.getPending() == 0) return true;
  Operation* op = wait.getAcc().getDefiningOp();
  if (op && op->getBlock() != wait->getBlock()) return false;
  int later = 0;
  for (Operation* o = op ? op->getNextNode() : &wait->getBlock()->front(); o != wait; o = o->getNextNode())
    later += isa<tgpu::WgmmaOp>(o);
  return later >= int(wait.getPending());
}

ptx::Accumulator accumulatorOf(mlir::Type type) {
  return type.isF16() ? ptx::Accumulator::F16 : type.isF32() ? ptx::Accumulator::F32 : ptx::Accumulator::S32;
}

}  // namespace

struct SharedOperand {
  layout::MatrixOperand matrix;
  llvm::Value* low = nullptr;  // of the descriptor's halves, for the part that begins at (0, 0)
  bool isMany = false;  // left operands that stay in their places have more parts than a warp holds descriptors of
};

// Returns true if elements along the first dimension are neighbours in the buffer.
static bool isTurned(KernelContext& cx, mlir::Value buffer) { return cx.buffers.find(buffer)->second.fastest == 0u; }

// Returns true if a load has a part in this scalar.
static bool dependsOnLoads(mlir::Value value, llvm::DenseSet<mlir::Value>& seen) {
  if (!seen.insert(value).second) return false;
  auto anyOf = [&](mlir::ValueRange values) {
    return llvm::any_of(values, [&](mlir::Value v) { return dependsOnLoads(v, seen); });
  };
  mlir::Operation* op = value.getDefiningOp();
  if (!op) op = cast<BlockArgument>(value).getOwner()->getParentOp();
  if (isa<func::FuncOp>(op)) return false;
  if (llvm::any_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>) && !isa<RegionBranchOpInterface>(op))
    return true;
  if (!isa<RegionBranchOpInterface>(op) && !isMemoryEffectFree(op)) return true;
  bool found = anyOf(op->getOperands());
  for (mlir::Region& region : op->getRegions())
    for (mlir::Block& block : region) found = found || anyOf(block.getTerminator()->getOperands());
  return found;
}

// Returns true if a loop around `op` ends by something loaded.
static bool endsByLoads(mlir::Operation* op) {
  llvm::DenseSet<mlir::Value> seen;
  for (mlir::Operation* around = op->getParentOp(); around; around = around->getParentOp()) {
    llvm::SmallVector<mlir::Value> ends;
    if (auto loop = dyn_cast<scf::ForOp>(around)) ends = {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
    if (auto loop = dyn_cast<scf::WhileOp>(around)) ends = {loop.getConditionOp().getCondition()};
    if (llvm::any_of(ends, [&](mlir::Value v) { return dependsOnLoads(v, seen); })) return true;
  }
  return false;
}

// Returns true if a loop's products read the same place of shared memory on their left in each iteration.
static bool staysInPlace(KernelContext& cx, tgpu::WgmmaOp op) {
  return isa<tile::SmemType>(op.getLhs().getType()) && (!op.getLhsRing() || cx.ringOf(op.getLhsRing()).slots == 1) &&
         op->getParentOfType<LoopLikeOpInterface>();
}

// Returns true if left operands that stay in their places have so many parts that a warp's 63 registers for descriptors, two
// for each, do not hold them beside the others.
static bool manyStayInPlace(KernelContext& cx, tgpu::WgmmaOp op) {
  constexpr int64_t kHeld = 8;
  llvm::SmallDenseMap<mlir::Value, int64_t> parts;
  op->getParentOfType<func::FuncOp>().walk([&](tgpu::WgmmaOp other) {
    if (!staysInPlace(cx, other)) return;
    auto type = cast<tile::SmemType>(other.getLhs().getType());
    int64_t rows = std::max<int64_t>(64, cast<RankedTensorType>(other.getAcc().getType()).getDimSize(0));
    int64_t depth = type.getShape()[0] * type.getShape()[1] / rows,
            groups = std::min<int64_t>(cx.numWarps / 4, rows / 64);
    unsigned bits = type.getElementType().getIntOrFloatBitWidth();
    parts[other.getLhs()] = rows / 64 / groups * depth / layout::instructionK(bits);
  });
  int64_t all = 0;
  for (auto [lhs, count] : parts) all += count;
  return all > kHeld;
}

// The distance to the part with number `index`, of parts of `size` rows or columns. Where several share a box, the next box is further
// away than the next part.
static llvm::Value* partOffset(KernelContext& cx, const layout::MatrixOperand& operand, llvm::Value* index,
                               int64_t size) {
  auto times = [&](llvm::Value* count, int64_t parts) {
    return cx.b.CreateMul(count, cx.b.getInt32(layout::startByteOffset(operand, parts * size, 0)));
  };
  int64_t inBox = operand.kMajor ? 1 : layout::rowBytes(operand.swizzle) * 8 / (operand.elemBits * size);
  if (inBox <= 1 || operand.mn <= inBox * size) return times(index, 1);
  return cx.b.CreateAdd(times(cx.b.CreateAnd(index, inBox - 1), 1),
                        times(cx.b.CreateLShr(index, llvm::Log2_64(inBox)), inBox));
}

// An operand whose warpgroup `index` begins `size` rows or columns behind the one before. Null: all read the same.
static SharedOperand sharedOperand(KernelContext& cx, mlir::Value buffer, mlir::Value ring, bool kMajor,
                                   llvm::Value* index, int64_t size) {
  auto type = cast<tile::SmemType>(buffer.getType());
  unsigned bits = type.getElementType().getIntOrFloatBitWidth();
  SmallVector<int64_t> shape(type.getShape());
  if (isTurned(cx, buffer)) std::swap(shape[0], shape[1]);
  // A buffer's rows are M or N when K is innermost, else K.
  layout::MatrixOperand operand{kMajor ? shape[0] : shape[1], kMajor ? shape[1] : shape[0], bits, kMajor,
                                layout::swizzleOfRow(cx.buffers.find(buffer)->second.swizzle)};
  const Buffer& place = cx.buffers.find(buffer)->second;
  llvm::Value* address = cx.b.CreatePtrToInt(cx.sharedAddress(place.offset), cx.b.getInt32Ty());
  if (index) address = cx.b.CreateAdd(address, partOffset(cx, operand, index, size));
  llvm::Value* start = cx.b.CreateAnd(cx.b.CreateLShr(address, 4), 0x3fff);
  llvm::Value* low = cx.b.CreateOr(start, cx.b.getInt32(uint32_t(layout::descriptorBits(operand))));
  if (ring) {
    llvm::Value* slot = cx.b.CreateLoad(cx.b.getInt32Ty(), cx.ringOf(ring).slot[kTake]);
    low = cx.b.CreateAdd(low, cx.b.CreateMul(slot, cx.b.getInt32(place.slotBytes >> 4)));
  }
  return {operand, low};
}

// One addition for each instruction: shared memory ends below the 2^18 bytes that the start's 14 bits can name, so
// nothing is carried on.
static llvm::Value* descriptorAt(KernelContext& cx, const SharedOperand& operand, int64_t mn, int64_t k) {
  uint32_t part = uint32_t(layout::startByteOffset(operand.matrix, mn, k) >> 4);
  llvm::Value* low =
      operand.isMany ? ptx::addedHere(cx.b, operand.low, part) : cx.b.CreateAdd(operand.low, cx.b.getInt32(part));
  uint64_t high = layout::descriptorBits(operand.matrix) >> 32 << 32;
  return cx.b.CreateOr(cx.b.CreateZExt(low, cx.b.getInt64Ty()), cx.b.getInt64(high));
}

// float16 results go through the instruction in pairs.
static Regs multiplyInto(KernelContext& cx, const ptx::Wgmma& mma, const Regs& part) {
  bool isHalf = mma.accumulator == ptx::Accumulator::F16;
  Regs held = part;
  if (isHalf) {
    for (llvm::Value*& v : held) v = cx.toBits(v);
    held = cx.pack(held, 32);
  }
  Regs out(ptx::unpack(cx.b, ptx::wgmma(cx.b, mma, held)));
  if (!isHalf) return out;
  out = cx.unpack(out, 16, part.size());
  for (llvm::Value*& v : out) v = cx.fromBits(v, cx.b.getHalfTy());
  return out;
}

// Returns the registers of the whole result that the instruction computes whose first element is (row, column) in the
// first warpgroup.
static llvm::SmallVector<size_t> instructionRegisters(const LinearLayout& layout, int64_t row, int64_t column,
                                                      int64_t n) {
  llvm::SmallVector<size_t> out;
  layout::WarpGrid one{4, 1};
  LinearLayout instruction = layout::wgmmaResult({64, n}, one, n);
  llvm::DenseMap<uint64_t, size_t> at;
  for (int64_t r = 0; r < layout.numRegisters(); ++r) at[layout.apply(r, 0, 0, 0)] = r;
  int64_t columns = layout.shape()[1];
  for (int64_t r = 0; r < instruction.numRegisters(); ++r) {
    llvm::SmallVector<int64_t> c = instruction.coordinates(instruction.apply(r, 0, 0, 0));
    out.push_back(at.lookup((c[0] + row) * columns + c[1] + column));
  }
  return out;
}

// Operand A of one instruction: four words of packed elements.
static Regs lhsRegisters(KernelContext& cx, tgpu::WgmmaOp op, int64_t row, int64_t k, int64_t instructionK) {
  LinearLayout layout = cx.layoutOf(op.getLhs());
  unsigned bits = cast<RankedTensorType>(op.getLhs().getType()).getElementTypeBitWidth();
  LinearLayout instruction = layout::wgmmaOperandA({64, instructionK}, bits, {4, 1});
  llvm::DenseMap<uint64_t, size_t> at;
  for (int64_t r = 0; r < layout.numRegisters(); ++r) at[layout.apply(r, 0, 0, 0)] = r;
  Regs parts;
  for (int64_t r = 0; r < instruction.numRegisters(); ++r) {
    llvm::SmallVector<int64_t> c = instruction.coordinates(instruction.apply(r, 0, 0, 0));
    parts.push_back(cx.toBits(cx.use(op.getLhs())[at.lookup((c[0] + row) * layout.shape()[1] + c[1] + k)]));
  }
  return cx.pack(parts, 32);
}

static void lowerProduct(KernelContext& cx, tgpu::WgmmaOp op) {
  llvm::SmallVector<tgpu::WgmmaOp> products = tgpu::withJoined(op);
  if (products.empty()) return;
  auto accType = cast<RankedTensorType>(op.getAcc().getType());
  LinearLayout layout = cx.layoutOf(op.getResult());
  bool fromRegisters = isa<RankedTensorType>(op.getLhs().getType());
  mlir::Type element = cast<tile::SmemType>(op.getRhs().getType()).getElementType();
  ptx::Element kind = elementOf(element);
  unsigned bits = element.getIntOrFloatBitWidth();
  auto rhsShape = cast<tile::SmemType>(op.getRhs().getType()).getShape();
  int64_t depth = op.getRhsTransposed() ? rhsShape[1] : rhsShape[0];

  // Warpgroups divide the rows, then the columns; the rest of the result is a warpgroup's own instructions.
  int64_t groups = cx.numWarps / 4, rowGroups = std::min<int64_t>(groups, accType.getDimSize(0) / 64),
          columnGroups = groups / rowGroups;
  int64_t columns = accType.getDimSize(1) / columnGroups, instructionN = std::min<int64_t>(256, columns);
  int64_t rowSteps = accType.getDimSize(0) / 64 / rowGroups, columnSteps = columns / instructionN, ownN = instructionN,
          instructionK = layout::instructionK(bits);
  for (tgpu::WgmmaOp joined : llvm::drop_begin(products))
    instructionN += cast<RankedTensorType>(joined.getType()).getDimSize(1);
  llvm::Value* group = cx.b.CreateLShr(cx.warpId(), 2);
  llvm::Value* rowGroup = rowGroups > 1 ? cx.b.CreateAnd(group, rowGroups - 1) : nullptr;
  llvm::Value* columnGroup = columnGroups > 1 ? cx.b.CreateLShr(group, llvm::Log2_64(rowGroups)) : nullptr;

  bool rhsKMajor = op.getRhsTransposed() != isTurned(cx, op.getRhs());
  bool lhsKMajor = fromRegisters || op.getLhsTransposed() == isTurned(cx, op.getLhs());
  SharedOperand lhs, rhs = sharedOperand(cx, op.getRhs(), op.getRhsRing(), rhsKMajor, columnGroup, columns);
  if (!fromRegisters) lhs = sharedOperand(cx, op.getLhs(), op.getLhsRing(), lhsKMajor, rowGroup, 64);
  lhs.isMany = staysInPlace(cx, op) && manyStayInPlace(cx, op);
  // Instructions take descriptors from registers that a warp has one of, where ptxas keeps what it knows to be one value for the
  // warp: not slots that are counted in loops which end by something loaded. Short instructions would wait for each
  // descriptor's move, so they get what lane 0 has.
  constexpr int64_t kShort = 64;
  if (instructionN <= kShort && endsByLoads(op))
    for (SharedOperand* operand : {&lhs, &rhs})
      if (operand->low) operand->low = cx.emit.shuffle(Shuffle::Index, operand->low, cx.b.getInt32(0), nullptr);

  // The first instruction of a sum that begins at zero overwrites what its registers hold.
  Regs acc;
  for (tgpu::WgmmaOp product : products) acc.append(cx.use(product.getAcc()));
  bool fromZero = analysis::isZero(op.getAcc());
  if (fromZero)
    for (llvm::Value*& v : acc) v = llvm::UndefValue::get(v->getType());
  llvm::Value* keep = fromZero ? cx.b.getFalse() : nullptr;
  if (tgpu::beginsAtZero(op.getAcc())) {
    auto loop = cast<scf::ForOp>(cast<BlockArgument>(op.getAcc()).getOwner()->getParentOp());
    keep = cx.b.CreateICmpNE(cx.useScalar(loop.getInductionVar()), cx.useScalar(loop.getLowerBound()));
  }
  // Left operands are ready before the fence.
  llvm::DenseMap<std::pair<int64_t, int64_t>, Regs> words;
  for (int64_t i = 0; i < rowSteps && fromRegisters; ++i)
    for (int64_t k = 0; k < depth; k += instructionK)
      words[{i, k}] = lhsRegisters(cx, op, i * 64 * rowGroups, k, instructionK);
  if (op.getTakesTurn() && takeTurns(cx)) awaitTurn(cx);
  ptx::wgmmaFence(cx.b);
  for (int64_t i = 0; i < rowSteps; ++i)
    for (int64_t j = 0; j < columnSteps; ++j) {
      // The registers of one instruction's result, in its order.
      Regs part;
      llvm::SmallVector<size_t> from = instructionRegisters(layout, i * 64 * rowGroups, j * ownN, ownN);
      size_t before = layout.numRegisters();
      for (tgpu::WgmmaOp joined : llvm::drop_begin(products)) {
        LinearLayout other = cx.layoutOf(joined.getResult());
        for (size_t r : instructionRegisters(other, i * 64 * rowGroups, 0, other.shape()[1]))
          from.push_back(before + r);
        before += other.numRegisters();
      }
      for (size_t r : from) part.push_back(acc[r]);
      for (int64_t k = 0; k < depth; k += instructionK) {
        ptx::Wgmma mma;
        mma.n = instructionN;
        mma.a = mma.b = kind;
        mma.accumulator = accumulatorOf(accType.getElementType());
        mma.transposeA = !lhsKMajor;
        mma.transposeB = !rhsKMajor;
        if (keep && k == 0) mma.keep = keep;
        if (fromRegisters)
          mma.registersA = words[{i, k}];
        else
          mma.descriptorA = descriptorAt(cx, lhs, i * 64 * rowGroups, k);
        mma.descriptorB = descriptorAt(cx, rhs, j * ownN, k);
        part = multiplyInto(cx, mma, part);
      }
      for (auto [r, v] : llvm::zip(from, part)) acc[r] = v;
    }
  ptx::wgmmaCommit(cx.b);
  for (size_t begin = 0; tgpu::WgmmaOp product : products) {
    size_t count = cx.layoutOf(product.getResult()).numRegisters();
    cx.define(product.getResult(), Regs(llvm::ArrayRef(acc).slice(begin, count)));
    begin += count;
  }
}

// Ops that reach no buffer, or read a slot that copies have filled, to which nothing else is stored.
static bool isApart(Operation* op) {
  if (auto read = dyn_cast_or_null<tgpu::LocalLoadOp>(op)) return read.getRing() != nullptr;
  return op && !op->getNumRegions() && (isMemoryEffectFree(op) || isa<tile::LoadOp>(op));
}

// Returns true if the next store to a buffer comes before anything that reads one.
static bool hasStoreBehind(tgpu::LocalStoreOp op) {
  Operation* next = op->getNextNode();
  while (isApart(next)) next = next->getNextNode();
  return isa_and_nonnull<tgpu::LocalStoreOp>(next);
}

// The store whose barriers this one shares; null: none.
static tgpu::LocalStoreOp storeBefore(tgpu::LocalStoreOp op) {
  for (Operation* before = op->getPrevNode(); before; before = before->getPrevNode())
    if (auto store = dyn_cast<tgpu::LocalStoreOp>(before)) return hasStoreBehind(store) ? store : tgpu::LocalStoreOp();
  return {};
}

// Returns true if more than threads reads what has been stored since the last barrier, or a producer may fill its place later.
static bool feedsUnits(tgpu::LocalStoreOp op) {
  if (op->getParentOfType<func::FuncOp>()
          .walk([](tgpu::WarpSpecializeOp) { return WalkResult::interrupt(); })
          .wasInterrupted())
    return true;
  auto isOfThreads = [](Operation* user) { return isa<tgpu::LocalStoreOp, tgpu::LocalLoadOp>(user); };
  for (; op; op = storeBefore(op))
    if (!llvm::all_of(op.getBuffer().getUsers(), isOfThreads)) return true;
  return false;
}

// Returns true if all threads have met since the buffer was read: before an earlier store, or where they have waited for copies.
static bool hasMetBefore(KernelContext& cx, tgpu::LocalStoreOp op) {
  auto isBehindWait = [](Operation* before) {
    return isa_and_nonnull<tgpu::CopyAsyncOp, tgpu::CommitOp>(before) ||
           (isApart(before) && !isa<tgpu::WgmmaOp, tgpu::WgmmaWaitOp>(before));
  };
  Operation* wait = op->getPrevNode();
  while (isBehindWait(wait)) wait = wait->getPrevNode();
  if (auto await = dyn_cast_or_null<tgpu::AwaitOp>(wait))
    if (auto copies = await.getRing().getDefiningOp<tgpu::CopyRingOp>()) return !cx.ringOf(copies).isOfGroups;
  return storeBefore(op) != nullptr;
}

// Stores into panels as TMA would have written them; then the asynchronous proxy, where there is one, may read. Stores one after
// the other have the barriers before the first and behind the last in common.
static void lowerLocalStore(KernelContext& cx, tgpu::LocalStoreOp op) {
  LinearLayout from = cx.layoutOf(op.getValue());
  auto type = cast<tile::SmemType>(op.getBuffer().getType());
  unsigned bits = type.getElementType().getIntOrFloatBitWidth();
  const Buffer& buffer = cx.buffers.find(op.getBuffer())->second;
  LinearLayout offsets = buffer.swizzle ? offsetsIn(cx, op.getBuffer())
                                        : layout::swizzledOffsets(type.getShape(), bits, layout::Swizzle::None);
  if (!hasMetBefore(cx, op)) cx.emit.blockBarrier();
  storePlaced(cx, cx.sharedAddress(buffer.offset), layout::offsetsOf(from, offsets), cx.use(op.getValue()), bits);
  if (hasStoreBehind(op)) return;
  if (cx.target.hasTma() && feedsUnits(op)) ptx::fenceProxyAsync(cx.b, ptx::ProxySpace::Shared);
  cx.emit.blockBarrier();
}

static void lowerWait(KernelContext& cx, tgpu::WgmmaWaitOp op) {
  // Registers of a product still under way are not touched: its sum's, nor those of its left operand, which the wait
  // still names.
  Regs acc = cx.use(op.getAcc());
  if (!completes(op)) {
    ptx::wgmmaWait(cx.b, op.getPending(), {});
    return cx.define(op.getResult(), acc);
  }
  Regs held = acc;
  auto product = op.getAcc().getDefiningOp<tgpu::WgmmaOp>();
  if (product && isa<RankedTensorType>(product.getLhs().getType())) {
    Regs lhs = cx.use(product.getLhs());
    for (llvm::Value*& v : lhs) v = cx.toBits(v);
    held.append(cx.pack(lhs, 32));
  }
  ptx::Values waited = ptx::wgmmaWait(cx.b, op.getPending(), held);
  cx.define(op.getResult(), Regs(waited.begin(), waited.begin() + acc.size()));
}

// The warpgroup's pair may start its products.
template <class Op>
static void passTurn(KernelContext& cx, Op op) {
  if (op.getGivesTurn() && takeTurns(cx)) giveTurn(cx);
}

void registerWgmma(Lowerings& table) {
  on<tgpu::WgmmaOp>(table, [](KernelContext& cx, auto o) {
    lowerProduct(cx, o);
    passTurn(cx, o);
  });
  on<tgpu::WgmmaWaitOp>(table, [](KernelContext& cx, auto o) {
    lowerWait(cx, o);
    passTurn(cx, o);
  });
  on<tgpu::WarpAnyOp>(table, [](KernelContext& cx, auto o) {
    llvm::Value* any = cx.b.getFalse();
    for (llvm::Value* v : cx.use(o.getCondition())) any = cx.b.CreateOr(any, v);
    cx.define(o.getResult(), {cx.b.CreateICmpNE(ptx::ballot(cx.b, any), cx.b.getInt32(0))});
  });
  on<tgpu::LocalStoreOp>(table, [](KernelContext& cx, auto o) { lowerLocalStore(cx, o); });
}

}  // namespace tandem::lower::nvidia
