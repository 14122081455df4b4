// This file places things in the block's shared memory, and moves registers to and from it.
#include "compiler/lower/gpu/shared.h"
#include "compiler/layout/shared.h"

namespace tandem::lower::gpu {
using namespace mlir;

llvm::Value* KernelContext::sharedAddress(llvm::Value* byteOffset) {
  return b.CreateGEP(b.getInt8Ty(), shared_, byteOffset);
}

// The bits of the register's offset that no thread has are a constant, which instructions add for nothing.
llvm::Value* KernelContext::sharedElement(llvm::Value* base, llvm::Value* threadOffset, uint64_t own, uint64_t threads,
                                          unsigned bits) {
  llvm::Value* offset = b.CreateXor(threadOffset, b.getInt32(own & threads));
  llvm::Value* thread = b.CreateGEP(b.getInt8Ty(), base, b.CreateMul(offset, b.getInt32(bits / 8)));
  return b.CreateGEP(b.getInt8Ty(), thread, b.getInt32((own & ~threads) * bits / 8));
}

int64_t KernelContext::allocateShared(int64_t bytes, int64_t alignment) {
  int64_t offset = llvm::alignTo(sharedBytes, alignment);
  sharedBytes = offset + bytes;
  return offset;
}

llvm::Value* KernelContext::toBits(llvm::Value* value) {
  llvm::Type* type = value->getType();
  if (type->isPointerTy()) return b.CreatePtrToInt(value, b.getInt64Ty());
  if (type->isIntegerTy(1)) return b.CreateZExt(value, b.getInt8Ty());
  return b.CreateBitCast(value, b.getIntNTy(type->getScalarSizeInBits()));
}

llvm::Value* KernelContext::fromBits(llvm::Value* bits, llvm::Type* type) {
  if (type->isPointerTy()) return b.CreateIntToPtr(bits, type);
  if (type->isIntegerTy(1)) return b.CreateTrunc(bits, type);
  return b.CreateBitCast(bits, type);
}

unsigned KernelContext::bitsOf(llvm::Type* element) {
  return element->isPointerTy() ? 64 : std::max(8u, element->getScalarSizeInBits());
}

// The vector whose elements these are, all of them in order; or null.
static llvm::Value* vectorOf(Scalars parts) {
  llvm::Value* vector = nullptr;
  for (auto [k, part] : llvm::enumerate(parts)) {
    auto* taken = dyn_cast<llvm::ExtractElementInst>(part);
    auto* index = taken ? dyn_cast<llvm::ConstantInt>(taken->getIndexOperand()) : nullptr;
    if (!index || index->getZExtValue() != k || (vector && vector != taken->getVectorOperand())) return nullptr;
    vector = taken->getVectorOperand();
  }
  auto* type = dyn_cast<llvm::FixedVectorType>(vector->getType());
  return type && type->getNumElements() == parts.size() ? vector : nullptr;
}

// Bytes that an instruction made in pairs as these pairs, so that nobody takes them apart and puts them together again; or
// as they are.
static Regs inMadePairs(llvm::IRBuilderBase& b, Scalars bytes) {
  Regs pairs;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2)
    if (llvm::Value* pair = vectorOf(bytes.slice(i, 2))) pairs.push_back(b.CreateBitCast(pair, b.getInt16Ty()));
  return 2 * pairs.size() == bytes.size() ? pairs : Regs(bytes.begin(), bytes.end());
}

// Integers of one width, lowest first, as words of `wordBits`.
Regs KernelContext::pack(Scalars given, unsigned wordBits) {
  bool areBytes = given[0]->getType()->isIntegerTy(8) && wordBits == 32;
  Regs parts = areBytes ? inMadePairs(b, given) : Regs(given.begin(), given.end());
  unsigned bits = parts[0]->getType()->getIntegerBitWidth();
  if (bits >= wordBits) {
    Regs out;
    for (llvm::Value* p : parts)
      for (unsigned at = 0; at < bits; at += wordBits)
        out.push_back(b.CreateTrunc(b.CreateLShr(p, at), b.getIntNTy(wordBits)));
    return out;
  }
  unsigned perWord = wordBits / bits;
  Regs out;
  for (size_t i = 0; i < parts.size(); i += perWord) {
    llvm::Value* vector = llvm::PoisonValue::get(llvm::FixedVectorType::get(parts[0]->getType(), perWord));
    for (unsigned k = 0; k < perWord; ++k)
      vector = b.CreateInsertElement(vector, parts[std::min(i + k, parts.size() - 1)], k);
    out.push_back(b.CreateBitCast(vector, b.getIntNTy(wordBits)));
  }
  return out;
}

Regs KernelContext::unpack(Scalars words, unsigned bits, size_t count) {
  unsigned wordBits = words[0]->getType()->getIntegerBitWidth();
  Regs out;
  if (bits >= wordBits) {
    unsigned perPart = bits / wordBits;
    for (size_t i = 0; i < count; ++i) {
      llvm::Value* part = b.CreateZExt(words[i * perPart], b.getIntNTy(bits));
      for (unsigned k = 1; k < perPart; ++k)
        part = b.CreateOr(part, b.CreateShl(b.CreateZExt(words[i * perPart + k], b.getIntNTy(bits)), k * wordBits));
      out.push_back(part);
    }
    return out;
  }
  unsigned perWord = wordBits / bits;
  for (size_t i = 0; i < count; ++i) {
    llvm::Value* vector = b.CreateBitCast(words[i / perWord], llvm::FixedVectorType::get(b.getIntNTy(bits), perWord));
    out.push_back(b.CreateExtractElement(vector, i % perWord));
  }
  return out;
}

void KernelContext::storeShared(llvm::Value* address, Scalars parts) {
  unsigned bytes = parts.size() * parts[0]->getType()->getIntegerBitWidth() / 8;
  llvm::Value* value = parts[0];
  if (parts.size() > 1) {
    Regs words = bytes >= 4 ? pack(parts, 32) : Regs(parts.begin(), parts.end());
    value = llvm::PoisonValue::get(llvm::FixedVectorType::get(words[0]->getType(), words.size()));
    for (auto [i, w] : llvm::enumerate(words)) value = b.CreateInsertElement(value, w, i);
  }
  b.CreateAlignedStore(value, address, llvm::Align(bytes));
}

Regs KernelContext::loadShared(llvm::Value* address, unsigned bits, size_t count) {
  unsigned bytes = bits * count / 8;
  if (count == 1) return {b.CreateAlignedLoad(b.getIntNTy(bits), address, llvm::Align(bytes))};
  llvm::Type* word = b.getIntNTy(std::min(32u, bytes * 8));
  unsigned words = bytes * 8 / word->getIntegerBitWidth();
  llvm::Value* vector = b.CreateAlignedLoad(llvm::FixedVectorType::get(word, words), address, llvm::Align(bytes));
  Regs parts;
  for (unsigned i = 0; i < words; ++i) parts.push_back(b.CreateExtractElement(vector, i));
  return unpack(parts, bits, count);
}

void storeTile(KernelContext& cx, llvm::Value* base, const LinearLayout& layout, const LinearLayout& offsets,
               const Regs& regs) {
  unsigned bits = cx.bitsOf(regs[0]->getType());
  LinearLayout placed = layout::offsetsOf(layout, offsets);
  cx.when(cx.isOwner(layout), [&] {
    for (const auto& group : layout::vectorGroups(placed, layout::widestVector(placed, bits))) {
      Regs parts;
      for (unsigned r : group) parts.push_back(cx.toBits(regs[r]));
      cx.storeShared(cx.b.CreateGEP(cx.b.getInt8Ty(), base,
                                    cx.b.CreateMul(cx.position(placed, group[0]), cx.b.getInt32(bits / 8))),
                     parts);
    }
  });
}

void storeRowMajor(KernelContext& cx, llvm::Value* base, const LinearLayout& layout, const Regs& regs) {
  storeTile(cx, base, layout, layout::plainOffsets(layout.shape()), regs);
}

}  // namespace tandem::lower::gpu
