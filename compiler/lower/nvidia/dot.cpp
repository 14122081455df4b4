// tile.dot by mma.sync, warp by warp.
#include "compiler/dialect/tgpu/attributes.h"
#include "compiler/layout/distributed.h"
#include "compiler/lower/nvidia/copies.h"
#include "compiler/target/nvidia_units.h"
#include <map>

namespace tandem::lower::nvidia {
using namespace mlir;
namespace {

ptx::Element elementOf(mlir::Type type) {
  using E = ptx::Element;
  if (type.isF16()) return E::F16;
  if (type.isBF16()) return E::BF16;
  if (type.isF32()) return E::TF32;
  if (type.isF64()) return E::F64;
  if (isa<Float8E4M3FNType>(type)) return E::E4M3;
  return isa<Float8E5M2Type>(type) ? E::E5M2 : E::S8;
}

// A tile that no op defines.
struct Held {
  LinearLayout layout;
  Regs regs;
};

// The register of the thread with number 0 that holds a position. The other threads' are the same, since all positions
// move by the same distance.
using RegisterAt = llvm::DenseMap<uint64_t, size_t>;
RegisterAt registersAt(const LinearLayout& layout) {
  RegisterAt out;
  for (int64_t r = 0; r < layout.numRegisters(); ++r) out.try_emplace(layout.apply(r, 0, 0, 0), r);
  return out;
}

// `corner` with its last two coordinates moved.
uint64_t positionAt(const LinearLayout& layout, ArrayRef<int64_t> corner, int64_t row, int64_t column) {
  SmallVector<int64_t> at(corner);
  at[at.size() - 2] += row;
  at[at.size() - 1] += column;
  return layout.position(at);
}

}  // namespace

// The packed words of one instruction's operand that begins at `corner` of the whole one; float64 as it is. Of a float32 the unit ignores
// what tf32 has no bits for, as wgmma does.
static Regs operandWords(KernelContext& cx, const Held& operand, const LinearLayout& instruction,
                         ArrayRef<int64_t> corner) {
  RegisterAt at = registersAt(operand.layout);
  Regs parts;
  for (int64_t r = 0; r < instruction.numRegisters(); ++r) {
    SmallVector<int64_t> c = instruction.coordinates(instruction.apply(r, 0, 0, 0));
    parts.push_back(operand.regs[at.lookup(positionAt(operand.layout, corner, c[0], c[1]))]);
  }
  if (parts[0]->getType()->isDoubleTy()) return parts;
  for (llvm::Value*& part : parts) part = cx.toBits(part);
  return cx.pack(parts, 32);
}

// float16 results go through the instruction in pairs.
static Regs multiplyOnce(KernelContext& cx, const ptx::MmaSync& mma, Scalars lhs, Scalars rhs, Scalars acc) {
  if (mma.accumulator != ptx::Accumulator::F16) return Regs(ptx::mmaSync(cx.b, mma, lhs, rhs, acc));
  Regs parts;
  for (llvm::Value* v : acc) parts.push_back(cx.toBits(v));
  parts = cx.unpack(Regs(ptx::mmaSync(cx.b, mma, lhs, rhs, cx.pack(parts, 32))), 16, acc.size());
  for (llvm::Value*& v : parts) v = cx.fromBits(v, cx.b.getHalfTy());
  return parts;
}

// The operand of an instruction from the words of its upper rows; the lower ones are zero.
static Regs withZeroRows(Scalars upper) {
  Regs words;
  for (llvm::Value* word : upper) words.append({word, llvm::Constant::getNullValue(word->getType())});
  return words;
}

// The pairs of 16-bit floats of words of four 8-bit ones: the first pair of each word, then the second one of each.
static Regs halvesOf(KernelContext& cx, Scalars words, ptx::Element kind) {
  ptx::Float8 type = kind == ptx::Element::E4M3 ? ptx::Float8::E4M3 : ptx::Float8::E5M2;
  Regs pairs;
  for (unsigned shift : {0, 16})
    for (llvm::Value* word : words) {
      llvm::Value* pair = cx.b.CreateTrunc(cx.b.CreateLShr(word, shift), cx.b.getInt16Ty());
      pairs.push_back(cx.b.CreateBitCast(ptx::float8ToHalf(cx.b, type, pair), cx.b.getInt32Ty()));
    }
  return pairs;
}

// acc + lhs · rhs, in layouts dotOperandA, dotOperandB and mmaV2Result of one grid of warps. Four registers of the
// result are one instruction's, two where the result has fewer rows than the instruction; an operand's words are made
// once. 8-bit floats are widened where no unit multiplies them: which of a word's neighbours along K an instruction takes
// is the same for both operands.
static Regs multiply(KernelContext& cx, const Held& lhs, const Held& rhs, const Held& acc, ptx::Element kind) {
  unsigned bits = target::mmaSyncBits(ptx::bitsOf(kind));
  int64_t instructionK = 256 / bits, depth = lhs.layout.shape().back();
  bool isHalf = lhs.layout.shape()[lhs.layout.rank() - 2] < target::kMmaSync.rows;
  const int64_t rows = isHalf ? target::kMmaSync.rows / 2 : target::kMmaSync.rows;
  const size_t held = isHalf ? 2 : 4;
  LinearLayout a = layout::dotOperandA({rows, instructionK}, bits, {}),
               b = layout::dotOperandB({instructionK, 8}, bits, {});
  llvm::Type* type = acc.regs[0]->getType();
  bool isWidened = (kind == ptx::Element::E4M3 || kind == ptx::Element::E5M2) && cx.target.emulatesFp8Mma();
  ptx::Element taken = isWidened ? ptx::Element::F16 : kind;
  ptx::MmaSync mma{taken, taken,
                   type->isHalfTy()     ? ptx::Accumulator::F16
                   : type->isFloatTy()  ? ptx::Accumulator::F32
                   : type->isDoubleTy() ? ptx::Accumulator::F64
                                        : ptx::Accumulator::S32};
  Regs out = acc.regs;
  for (int64_t k = 0; k < depth; k += instructionK) {
    std::map<uint64_t, Regs> lhsWords, rhsWords;
    for (size_t r = 0; r < out.size(); r += held) {
      SmallVector<int64_t> corner = acc.layout.coordinates(acc.layout.apply(r, 0, 0, 0)), left = corner, right = corner;
      left[left.size() - 1] = k;
      right[right.size() - 2] = k;
      Regs &x = lhsWords[lhs.layout.position(left)], &y = rhsWords[rhs.layout.position(right)];
      if (x.empty()) {
        x = operandWords(cx, lhs, a, left);
        if (isWidened) x = halvesOf(cx, x, kind);
        if (isHalf) x = withZeroRows(x);
      }
      if (y.empty()) {
        y = operandWords(cx, rhs, b, right);
        if (isWidened) y = halvesOf(cx, y, kind);
      }
      Regs part(Scalars(out).slice(r, held));
      part.resize(4, llvm::Constant::getNullValue(type));
      for (size_t i = 0, all = isWidened ? 2 : 1; i < all; ++i) {
        size_t ofLhs = x.size() / all, ofRhs = y.size() / all;
        part = multiplyOnce(cx, mma, Scalars(x).slice(i * ofLhs, ofLhs), Scalars(y).slice(i * ofRhs, ofRhs), part);
      }
      std::copy_n(part.begin(), held, out.begin() + r);
    }
  }
  return out;
}

static void lowerMma(KernelContext& cx, tile::DotOp op) {
  mlir::Type element = cast<RankedTensorType>(op.getLhs().getType()).getElementType();
  Held lhs{cx.layoutOf(op.getLhs()), cx.use(op.getLhs())}, rhs{cx.layoutOf(op.getRhs()), cx.use(op.getRhs())};
  cx.define(op.getResult(),
            multiply(cx, lhs, rhs, {cx.layoutOf(op.getResult()), cx.use(op.getAcc())}, elementOf(element)));
}

void registerDot(Lowerings& table) {
  on<tile::DotOp>(table, [](KernelContext& cx, auto o) {
    if (tgpu::usesMma(o))
      lowerMma(cx, o);
    else
      lowerMultiplyAdd(cx, o, [&](bool isLhs) {
        std::optional<tgpu::SlotOperand> slot = tgpu::slotOperand(o, isLhs);
        return slot ? std::optional(placeOf(cx, *slot)) : std::nullopt;
      });
  });
}

}  // namespace tandem::lower::nvidia
