// Integers that are parts of one word, as bytes and halves of bytes are: the word is shifted and masked once for all of them.
#include "compiler/lower/gpu/small_integer.h"
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/PatternMatch.h>

namespace tandem::lower::gpu {
namespace {
using namespace llvm::PatternMatch;

constexpr unsigned kByte = 8, kHalf = 16, kWord = 32;

struct Range {
  unsigned bits = 1;
  bool isOffset = false;  // half of the range lies below zero
};

// Returns what holds all integers.
Range rangeOf(KernelContext& cx, Scalars integers, bool isSigned) {
  const llvm::DataLayout& layout = cx.module.getDataLayout();
  unsigned positive = 1, withSign = 1;
  bool isOffset = false;
  for (llvm::Value* x : integers) {
    llvm::KnownBits known = llvm::computeKnownBits(x, layout);
    positive = std::max(positive, known.countMaxActiveBits());
    withSign = std::max(withSign, x->getType()->getIntegerBitWidth() - llvm::ComputeNumSignBits(x, layout) + 1);
    isOffset |= isSigned && !known.isNonNegative();
  }
  return {isOffset ? withSign : positive, isOffset};
}

// Bits of a value, from one on.
struct Part {
  llvm::Value* whole;
  uint64_t first = 0;
};

unsigned widthOf(llvm::Value* v) { return v->getType()->getPrimitiveSizeInBits(); }

// Returns the value that the part is taken from by an operation that leaves its bits as they are; null if there is none.
llvm::Value* sourceOf(Part& part, unsigned bits) {
  llvm::Value* from;
  uint64_t by;
  const llvm::APInt* mask;
  auto isWithin = [&](llvm::Value* v, uint64_t first) { return first + bits <= widthOf(v); };
  if (match(part.whole, m_Trunc(m_Value(from)))) return from;
  if (match(part.whole, m_ZExtOrSExt(m_Value(from)))) return isWithin(from, part.first) ? from : nullptr;
  if (match(part.whole, m_And(m_Value(from), m_APInt(mask))))
    return mask->extractBits(bits, part.first).isAllOnes() ? from : nullptr;
  bool isLeft = match(part.whole, m_Shl(m_Value(from), m_ConstantInt(by)));
  if (isLeft && part.first >= by) {
    part.first -= by;
    return from;
  }
  if (!isLeft && match(part.whole, m_Shr(m_Value(from), m_ConstantInt(by))) && isWithin(from, part.first + by)) {
    part.first += by;
    return from;
  }
  if (!match(part.whole, m_ExtractElt(m_BitCast(m_Value(from)), m_ConstantInt(by)))) return nullptr;
  if (!from->getType()->isIntegerTy()) return nullptr;
  part.first += by * widthOf(part.whole);
  return from;
}

Part lowBitsOf(llvm::Value* x, unsigned bits) {
  Part part{x};
  while (llvm::Value* from = sourceOf(part, bits)) part.whole = from;
  return part;
}

class Maker {
 public:
  Maker(KernelContext& cx, llvm::Type* to, Range range)
      : b_(cx.b), to_(to), range_(range), isWide_(range.bits > significand(to)),
        offset_(range.isOffset && !isWide_ ? uint64_t(1) << (range.bits - 1) : 0),
        first_(to->getFltSemantics(), uint64_t(1) << significand(to)) {}

  // The width of the integers below the first float whose neighbours are one apart.
  static unsigned significand(llvm::Type* to) { return to->getFPMantissaWidth() - 1; }

  llvm::Value* make(llvm::Value* low, llvm::Value* high) {
    Part one = lowBitsOf(low, range_.bits), other = lowBitsOf(high, range_.bits);
    llvm::Value* word = fromOneWord(one, other);
    auto* two = llvm::FixedVectorType::get(to_, 2);
    if (!word) word = fromHalves(one, other);
    if (isWide_) return withHighestBit(b_.CreateBitCast(word, b_.getInt32Ty()), two);
    llvm::Value* shifted = b_.CreateBitCast(word, two);
    llvm::APFloat taken = first_;
    taken.add(llvm::APFloat(to_->getFltSemantics(), offset_), llvm::APFloat::rmNearestTiesToEven);
    return b_.CreateFSub(shifted, llvm::ConstantFP::get(two, taken));
  }

 private:
  uint64_t firstBits() const { return first_.bitcastToAPInt().getZExtValue(); }
  uint64_t mask() const { return (uint64_t(1) << range_.bits) - 1; }

  llvm::Value* repeated(uint64_t n, unsigned width) const {
    return b_.getInt32(llvm::APInt::getSplat(kWord, llvm::APInt(width, n)).getZExtValue());
  }

  // The first float and twice as large ones differ by the bit above the significand: a float without that bit, less the one with
  // that bit alone, is an integer whose highest bit is its sign. One without a sign is that of the other highest bit, and more.
  llvm::Value* withHighestBit(llvm::Value* words, llvm::Type* two) {
    uint64_t highest = uint64_t(1) << significand(to_), all = (uint64_t(1) << kHalf) - 1;
    auto masked = [&](llvm::Value* from, uint64_t mask) {
      return b_.CreateBitCast(b_.CreateAnd(from, repeated(mask & all, kHalf)), two);
    };
    llvm::Value* sign = range_.isOffset ? words : b_.CreateXor(words, repeated(highest, kHalf));
    llvm::Value* number = b_.CreateFSub(masked(words, ~highest), masked(sign, ~(highest - 1)));
    return range_.isOffset ? number : b_.CreateFAdd(number, llvm::ConstantFP::get(two, first_));
  }

  // Takes two bytes of a word or of half of one, both from one bit on, and the first float's upper byte behind each of them.
  llvm::Value* fromOneWord(Part one, Part other) {
    unsigned width = widthOf(one.whole);
    uint64_t shift = one.first % kByte, last = width - range_.bits;
    bool isByte = one.whole == other.whole && (width == kWord || width == kHalf) && other.first % kByte == shift &&
                  shift + range_.bits <= kByte && one.first <= last && other.first <= last && !(firstBits() & 0xFF);
    if (!isByte) return nullptr;
    llvm::Value* word = b_.CreateZExt(one.whole, b_.getInt32Ty());
    word = b_.CreateAnd(b_.CreateLShr(word, shift), repeated(mask(), kByte));
    word = b_.CreateXor(word, repeated(offset_, kByte));
    auto* bytes = llvm::FixedVectorType::get(b_.getInt8Ty(), kWord / kByte);
    llvm::Value* upper = llvm::ConstantInt::get(bytes, firstBits() >> kByte);
    int begin = one.first / kByte, end = other.first / kByte;
    return b_.CreateShuffleVector(b_.CreateBitCast(word, bytes), upper, {begin, 4, end, 5});
  }

  llvm::Value* fromHalves(Part one, Part other) {
    llvm::Type* half = b_.getInt16Ty();
    llvm::Value* pair = llvm::PoisonValue::get(llvm::FixedVectorType::get(half, 2));
    const Part parts[] = {one, other};
    for (auto [place, part] : llvm::enumerate(parts))
      pair = b_.CreateInsertElement(pair, b_.CreateZExtOrTrunc(b_.CreateLShr(part.whole, part.first), half), place);
    llvm::Value* last = b_.CreateAnd(b_.CreateBitCast(pair, b_.getInt32Ty()), repeated(mask(), kHalf));
    return b_.CreateXor(last, repeated(firstBits() | offset_, kHalf));
  }

  llvm::IRBuilder<>& b_;
  llvm::Type* to_;
  Range range_;
  bool isWide_;  // one bit more than the significand has
  uint64_t offset_;
  llvm::APFloat first_;
};

}  // namespace

Regs smallToNarrow(KernelContext& cx, Scalars integers, bool isSigned, llvm::Type* to) {
  // LLVM converts constants itself, and selects between two floats for a truth value.
  if (integers.size() % 2 || llvm::isa<llvm::Constant>(integers.front()) || widthOf(integers.front()) < kByte)
    return {};
  Range range = rangeOf(cx, integers, isSigned);
  if (range.bits > Maker::significand(to) + 1) return {};
  Maker maker(cx, to, range);
  Regs out;
  for (size_t i = 0; i < integers.size(); i += 2) {
    llvm::Value* floats = maker.make(integers[i], integers[i + 1]);
    for (uint64_t half : {0, 1}) out.push_back(cx.b.CreateExtractElement(floats, half));
  }
  return out;
}

}  // namespace tandem::lower::gpu
