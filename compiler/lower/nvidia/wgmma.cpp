// Asynchronous products of warpgroups: descriptors of operands in shared memory, one instruction for each slice of K.
#include "compiler/analysis/zeros.h"
#include "compiler/dialect/tgpu/products.h"
#include "compiler/layout/distributed.h"
#include "compiler/layout/matrix_descriptor.h"
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower::nvidia {
using namespace mlir;
using layout::Dim;
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

bool KernelLowering::lowerWgmma(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<tgpu::WgmmaOp>([&](auto o) { return lowerProduct(o), true; })
      .Case<tgpu::WgmmaWaitOp>([&](auto o) {
        // Registers of a product still under way are not touched: its sum's, nor those of its left operand, which the wait still names.
        Regs acc = use(o.getAcc());
        if (!completes(o)) {
          ptx::wgmmaWait(b_, o.getPending(), {});
          return define(o.getResult(), acc), true;
        }
        Regs held = acc;
        auto product = o.getAcc().template getDefiningOp<tgpu::WgmmaOp>();
        if (product && isa<RankedTensorType>(product.getLhs().getType())) {
          Regs lhs = use(product.getLhs());
          for (llvm::Value*& v : lhs) v = toBits(v);
          held.append(pack(lhs, 32));
        }
        ptx::Values waited = ptx::wgmmaWait(b_, o.getPending(), held);
        define(o.getResult(), Regs(waited.begin(), waited.begin() + acc.size()));
        return true;
      })
      .Case<tgpu::WarpAnyOp>([&](auto o) {
        llvm::Value* any = b_.getFalse();
        for (llvm::Value* v : use(o.getCondition())) any = b_.CreateOr(any, v);
        define(o.getResult(), {b_.CreateICmpNE(ptx::ballot(b_, any), b_.getInt32(0))});
        return true;
      })
      .Case<tgpu::LocalStoreOp>([&](auto o) { return lowerLocalStore(o), true; })
      .Default([](Operation*) { return false; });
}

// An operand whose warpgroup `index` begins `size` rows or columns behind the one before. Null: all read the same.
KernelLowering::SharedOperand KernelLowering::sharedOperand(mlir::Value buffer, mlir::Value ring, bool kMajor,
                                                            llvm::Value* index, int64_t size) {
  auto type = cast<tile::SmemType>(buffer.getType());
  unsigned bits = type.getElementType().getIntOrFloatBitWidth();
  SmallVector<int64_t> shape(type.getShape());
  if (isTurned(buffer)) std::swap(shape[0], shape[1]);
  // A buffer's rows are M or N when K is innermost, else K.
  layout::MatrixOperand operand{kMajor ? shape[0] : shape[1], kMajor ? shape[1] : shape[0], bits, kMajor,
                                layout::swizzleOfRow(buffers_.find(buffer)->second.swizzle)};
  const Buffer& place = buffers_.find(buffer)->second;
  llvm::Value* address = b_.CreatePtrToInt(sharedAddress(place.offset), b_.getInt32Ty());
  if (index)
    address = b_.CreateAdd(address, b_.CreateMul(index, b_.getInt32(layout::startByteOffset(operand, size, 0))));
  llvm::Value* start = b_.CreateAnd(b_.CreateLShr(address, 4), 0x3fff);
  llvm::Value* low = b_.CreateOr(start, b_.getInt32(uint32_t(layout::descriptorBits(operand))));
  if (ring) {
    llvm::Value* slot = b_.CreateLoad(b_.getInt32Ty(), ringOf(ring).slot[kTake]);
    low = b_.CreateAdd(low, b_.CreateMul(slot, b_.getInt32(place.slotBytes >> 4)));
  }
  return {operand, low};
}

// One addition for each instruction: shared memory ends below the 2^18 bytes that the start's 14 bits can name, so nothing is carried on.
llvm::Value* KernelLowering::descriptorAt(const SharedOperand& operand, int64_t mn, int64_t k) {
  llvm::Value* low = b_.CreateAdd(operand.low, b_.getInt32(layout::startByteOffset(operand.matrix, mn, k) >> 4));
  uint64_t high = layout::descriptorBits(operand.matrix) >> 32 << 32;
  return b_.CreateOr(b_.CreateZExt(low, b_.getInt64Ty()), b_.getInt64(high));
}

// Returns true if elements along the first dimension are neighbours in the buffer.
bool KernelLowering::isTurned(mlir::Value buffer) const { return buffers_.find(buffer)->second.fastest == 0u; }

void KernelLowering::lowerProduct(tgpu::WgmmaOp op) {
  llvm::SmallVector<tgpu::WgmmaOp> products = tgpu::withJoined(op);
  if (products.empty()) return;
  auto accType = cast<RankedTensorType>(op.getAcc().getType());
  LinearLayout layout = layoutOf(op.getResult());
  bool fromRegisters = isa<RankedTensorType>(op.getLhs().getType());
  mlir::Type element = cast<tile::SmemType>(op.getRhs().getType()).getElementType();
  ptx::Element kind = elementOf(element);
  unsigned bits = element.getIntOrFloatBitWidth();
  auto rhsShape = cast<tile::SmemType>(op.getRhs().getType()).getShape();
  int64_t depth = op.getRhsTransposed() ? rhsShape[1] : rhsShape[0];

  // Warpgroups divide the rows, then the columns; the rest of the result is a warpgroup's own instructions.
  int64_t groups = numWarps_ / 4, rowGroups = std::min<int64_t>(groups, accType.getDimSize(0) / 64),
          columnGroups = groups / rowGroups;
  int64_t columns = accType.getDimSize(1) / columnGroups, instructionN = std::min<int64_t>(256, columns);
  int64_t rowSteps = accType.getDimSize(0) / 64 / rowGroups, columnSteps = columns / instructionN,
          ownN = instructionN, instructionK = layout::instructionK(bits);
  for (tgpu::WgmmaOp joined : llvm::drop_begin(products))
    instructionN += cast<RankedTensorType>(joined.getType()).getDimSize(1);
  llvm::Value* group = b_.CreateLShr(warpId(), 2);
  llvm::Value* rowGroup = rowGroups > 1 ? b_.CreateAnd(group, rowGroups - 1) : nullptr;
  llvm::Value* columnGroup = columnGroups > 1 ? b_.CreateLShr(group, llvm::Log2_64(rowGroups)) : nullptr;

  bool rhsKMajor = op.getRhsTransposed() != isTurned(op.getRhs());
  bool lhsKMajor = fromRegisters || op.getLhsTransposed() == isTurned(op.getLhs());
  SharedOperand lhs, rhs = sharedOperand(op.getRhs(), op.getRhsRing(), rhsKMajor, columnGroup, columns);
  if (!fromRegisters) lhs = sharedOperand(op.getLhs(), op.getLhsRing(), lhsKMajor, rowGroup, 64);

  // The first instruction of a sum that begins at zero overwrites what its registers hold.
  Regs acc;
  for (tgpu::WgmmaOp product : products) acc.append(use(product.getAcc()));
  bool fromZero = analysis::isZero(op.getAcc());
  if (fromZero)
    for (llvm::Value*& v : acc) v = llvm::UndefValue::get(v->getType());
  llvm::Value* keep = fromZero ? b_.getFalse() : nullptr;
  if (tgpu::beginsAtZero(op.getAcc())) {
    auto loop = cast<scf::ForOp>(cast<BlockArgument>(op.getAcc()).getOwner()->getParentOp());
    keep = b_.CreateICmpNE(useScalar(loop.getInductionVar()), useScalar(loop.getLowerBound()));
  }
  // Left operands are ready before the fence.
  llvm::DenseMap<std::pair<int64_t, int64_t>, Regs> words;
  for (int64_t i = 0; i < rowSteps && fromRegisters; ++i)
    for (int64_t k = 0; k < depth; k += instructionK)
      words[{i, k}] = lhsRegisters(op, i * 64 * rowGroups, k, instructionK);
  if (op->hasAttr("tgpu.takes_turn") && takeTurns()) awaitTurn();
  ptx::wgmmaFence(b_);
  for (int64_t i = 0; i < rowSteps; ++i)
    for (int64_t j = 0; j < columnSteps; ++j) {
      // The registers of one instruction's result, in its order.
      Regs part;
      llvm::SmallVector<size_t> from = instructionRegisters(layout, i * 64 * rowGroups, j * ownN, ownN);
      size_t before = layout.numRegisters();
      for (tgpu::WgmmaOp joined : llvm::drop_begin(products)) {
        LinearLayout other = layoutOf(joined.getResult());
        for (size_t r : instructionRegisters(other, i * 64 * rowGroups, 0, other.shape()[1])) from.push_back(before + r);
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
          mma.descriptorA = descriptorAt(lhs, i * 64 * rowGroups, k);
        mma.descriptorB = descriptorAt(rhs, j * ownN, k);
        part = accumulate(mma, part);
      }
      for (auto [r, v] : llvm::zip(from, part)) acc[r] = v;
    }
  ptx::wgmmaCommit(b_);
  for (size_t begin = 0; tgpu::WgmmaOp product : products) {
    size_t count = layoutOf(product.getResult()).numRegisters();
    define(product.getResult(), Regs(llvm::ArrayRef(acc).slice(begin, count)));
    begin += count;
  }
}

// float16 results go through the instruction in pairs.
Regs KernelLowering::accumulate(const ptx::Wgmma& mma, const Regs& part) {
  bool isHalf = mma.accumulator == ptx::Accumulator::F16;
  Regs held = part;
  if (isHalf) {
    for (llvm::Value*& v : held) v = toBits(v);
    held = pack(held, 32);
  }
  Regs out(ptx::unpack(b_, ptx::wgmma(b_, mma, held)));
  if (!isHalf) return out;
  out = unpack(out, 16, part.size());
  for (llvm::Value*& v : out) v = fromBits(v, b_.getHalfTy());
  return out;
}

// Returns the registers of the whole result that the instruction computes whose first element is (row, column) in the
// first warpgroup.
llvm::SmallVector<size_t> KernelLowering::instructionRegisters(const LinearLayout& layout, int64_t row, int64_t column,
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
Regs KernelLowering::lhsRegisters(tgpu::WgmmaOp op, int64_t row, int64_t k, int64_t instructionK) {
  LinearLayout layout = layoutOf(op.getLhs());
  unsigned bits = cast<RankedTensorType>(op.getLhs().getType()).getElementTypeBitWidth();
  LinearLayout instruction = layout::wgmmaOperandA({64, instructionK}, bits, {4, 1});
  llvm::DenseMap<uint64_t, size_t> at;
  for (int64_t r = 0; r < layout.numRegisters(); ++r) at[layout.apply(r, 0, 0, 0)] = r;
  Regs parts;
  for (int64_t r = 0; r < instruction.numRegisters(); ++r) {
    llvm::SmallVector<int64_t> c = instruction.coordinates(instruction.apply(r, 0, 0, 0));
    parts.push_back(toBits(use(op.getLhs())[at.lookup((c[0] + row) * layout.shape()[1] + c[1] + k)]));
  }
  return pack(parts, 32);
}

// Stores into panels as TMA would have written them; then the asynchronous proxy may read.
void KernelLowering::lowerLocalStore(tgpu::LocalStoreOp op) {
  LinearLayout from = layoutOf(op.getValue());
  auto type = cast<tile::SmemType>(op.getBuffer().getType());
  unsigned bits = type.getElementType().getIntOrFloatBitWidth();
  const Buffer& buffer = buffers_.find(op.getBuffer())->second;
  LinearLayout offsets = layout::swizzledOffsets(type.getShape(), bits, layout::swizzleOfRow(buffer.swizzle));
  LinearLayout placed = layout::offsetsOf(from, offsets);
  int64_t vector = 16 * 8 / bits;
  auto grouped = [&](int64_t v) { return layout::vectorGroups(placed, v); };
  while (vector > 1 && llvm::any_of(grouped(vector), [&](const auto& g) { return int64_t(g.size()) != vector; }))
    vector /= 2;
  blockBarrier();
  llvm::Value* base = sharedAddress(buffer.offset);
  for (const auto& group : grouped(vector)) {
    Regs parts;
    for (unsigned r : group) parts.push_back(toBits(use(op.getValue())[r]));
    storeShared(b_.CreateGEP(b_.getInt8Ty(), base, b_.CreateMul(position(placed, group[0]), b_.getInt32(bits / 8))),
                parts);
  }
  ptx::fenceProxyAsync(b_, ptx::ProxySpace::Shared);
  blockBarrier();
}

}  // namespace tandem::lower::nvidia
