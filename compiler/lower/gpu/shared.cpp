// This file places things in the block's shared memory, and moves registers to and from it.
#include "compiler/codegen/nvidia/kernel.h"
#include "compiler/lower/nvidia/kernel_lowering.h"

namespace tandem::lower::nvidia {
using namespace mlir;

llvm::Value* KernelLowering::sharedAddress(llvm::Value* byteOffset) {
  return b_.CreateGEP(b_.getInt8Ty(), shared_, byteOffset);
}

// The bits of the register's offset that no thread has are a constant, which instructions add for nothing.
llvm::Value* KernelLowering::sharedElement(llvm::Value* base, llvm::Value* threadOffset, uint64_t own, uint64_t threads, unsigned bits) {
  llvm::Value* offset = b_.CreateXor(threadOffset, b_.getInt32(own & threads));
  llvm::Value* thread = b_.CreateGEP(b_.getInt8Ty(), base, b_.CreateMul(offset, b_.getInt32(bits / 8)));
  return b_.CreateGEP(b_.getInt8Ty(), thread, b_.getInt32((own & ~threads) * bits / 8));
}

int64_t KernelLowering::allocateShared(int64_t bytes, int64_t alignment) {
  int64_t offset = llvm::alignTo(sharedBytes_, alignment);
  sharedBytes_ = offset + bytes;
  return offset;
}

int64_t KernelLowering::scratchBegin() const { return liveRings_ ? llvm::alignTo(sharedBytes_, 128) : freeBegin_; }

int64_t KernelLowering::scratchBudget() const { return target_.maxSharedBytes() - scratchBegin(); }

llvm::Value* KernelLowering::scratch(int64_t bytes, Location loc) {
  if (bytes > scratchBudget())
    places_.fail(loc, "out-of-shared-memory",
                 "the kernel needs " + std::to_string(scratchBegin() + bytes) +
                     " bytes of shared memory, " + target_.name() + " has " + std::to_string(target_.maxSharedBytes()));
  sharedEnd_ = std::max(sharedEnd_, scratchBegin() + bytes);
  return sharedAddress(scratchBegin());
}

llvm::Value* KernelLowering::toBits(llvm::Value* value) {
  llvm::Type* type = value->getType();
  if (type->isPointerTy()) return b_.CreatePtrToInt(value, b_.getInt64Ty());
  if (type->isIntegerTy(1)) return b_.CreateZExt(value, b_.getInt8Ty());
  return b_.CreateBitCast(value, b_.getIntNTy(type->getScalarSizeInBits()));
}

llvm::Value* KernelLowering::fromBits(llvm::Value* bits, llvm::Type* type) {
  if (type->isPointerTy()) return b_.CreateIntToPtr(bits, type);
  if (type->isIntegerTy(1)) return b_.CreateTrunc(bits, type);
  return b_.CreateBitCast(bits, type);
}

unsigned KernelLowering::bitsOf(llvm::Type* element) {
  return element->isPointerTy() ? 64 : std::max(8u, element->getScalarSizeInBits());
}

// Integers of one width, lowest first, as words of `wordBits`.
Regs KernelLowering::pack(Scalars parts, unsigned wordBits) {
  unsigned bits = parts[0]->getType()->getIntegerBitWidth();
  if (bits >= wordBits) {
    Regs out;
    for (llvm::Value* p : parts)
      for (unsigned at = 0; at < bits; at += wordBits)
        out.push_back(b_.CreateTrunc(b_.CreateLShr(p, at), b_.getIntNTy(wordBits)));
    return out;
  }
  unsigned perWord = wordBits / bits;
  Regs out;
  for (size_t i = 0; i < parts.size(); i += perWord) {
    llvm::Value* vector = llvm::PoisonValue::get(llvm::FixedVectorType::get(parts[0]->getType(), perWord));
    for (unsigned k = 0; k < perWord; ++k)
      vector = b_.CreateInsertElement(vector, parts[std::min(i + k, parts.size() - 1)], k);
    out.push_back(b_.CreateBitCast(vector, b_.getIntNTy(wordBits)));
  }
  return out;
}

Regs KernelLowering::unpack(Scalars words, unsigned bits, size_t count) {
  unsigned wordBits = words[0]->getType()->getIntegerBitWidth();
  Regs out;
  if (bits >= wordBits) {
    unsigned perPart = bits / wordBits;
    for (size_t i = 0; i < count; ++i) {
      llvm::Value* part = b_.CreateZExt(words[i * perPart], b_.getIntNTy(bits));
      for (unsigned k = 1; k < perPart; ++k)
        part = b_.CreateOr(part, b_.CreateShl(b_.CreateZExt(words[i * perPart + k], b_.getIntNTy(bits)), k * wordBits));
      out.push_back(part);
    }
    return out;
  }
  unsigned perWord = wordBits / bits;
  for (size_t i = 0; i < count; ++i) {
    llvm::Value* vector = b_.CreateBitCast(words[i / perWord], llvm::FixedVectorType::get(b_.getIntNTy(bits), perWord));
    out.push_back(b_.CreateExtractElement(vector, i % perWord));
  }
  return out;
}

void KernelLowering::storeShared(llvm::Value* address, Scalars parts) {
  unsigned bytes = parts.size() * parts[0]->getType()->getIntegerBitWidth() / 8;
  llvm::Value* value = parts[0];
  if (parts.size() > 1) {
    Regs words = bytes >= 4 ? pack(parts, 32) : Regs(parts.begin(), parts.end());
    value = llvm::PoisonValue::get(llvm::FixedVectorType::get(words[0]->getType(), words.size()));
    for (auto [i, w] : llvm::enumerate(words)) value = b_.CreateInsertElement(value, w, i);
  }
  b_.CreateAlignedStore(value, address, llvm::Align(bytes));
}

Regs KernelLowering::loadShared(llvm::Value* address, unsigned bits, size_t count) {
  unsigned bytes = bits * count / 8;
  if (count == 1) return {b_.CreateAlignedLoad(b_.getIntNTy(bits), address, llvm::Align(bytes))};
  llvm::Type* word = bytes >= 4 ? b_.getInt32Ty() : b_.getIntNTy(bits);
  unsigned words = bytes * 8 / word->getIntegerBitWidth();
  llvm::Value* vector = b_.CreateAlignedLoad(llvm::FixedVectorType::get(word, words), address, llvm::Align(bytes));
  Regs parts;
  for (unsigned i = 0; i < words; ++i) parts.push_back(b_.CreateExtractElement(vector, i));
  return unpack(parts, bits, count);
}

}  // namespace tandem::lower::nvidia
