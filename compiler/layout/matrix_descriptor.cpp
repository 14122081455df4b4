// Box arithmetic behind the matrix descriptor.
#include "compiler/layout/matrix_descriptor.h"

namespace tandem::layout {
namespace {

constexpr int64_t kCoreRows = 8, kInstructionBytesAlongK = 32;

int64_t rowsOfBox(const MatrixOperand& operand) { return operand.kMajor ? operand.mn : operand.k; }
int64_t boxBytes(const MatrixOperand& operand) { return rowsOfBox(operand) * rowBytes(operand.swizzle); }
int64_t coreGroupBytes(const MatrixOperand& operand) { return kCoreRows * rowBytes(operand.swizzle); }
bool isPlain(const MatrixOperand& operand) { return operand.swizzle == Swizzle::None; }

}  // namespace

int64_t instructionK(unsigned elemBits) { return kInstructionBytesAlongK * 8 / elemBits; }

int64_t leadingByteOffset(const MatrixOperand& operand) {
  if (isPlain(operand) && !operand.kMajor) return coreGroupBytes(operand);
  if (operand.kMajor && !isPlain(operand)) return rowBytes(Swizzle::None);
  return boxBytes(operand);
}

int64_t strideByteOffset(const MatrixOperand& operand) {
  return isPlain(operand) && !operand.kMajor ? boxBytes(operand) : coreGroupBytes(operand);
}

int64_t startByteOffset(const MatrixOperand& operand, int64_t mn, int64_t k) {
  int64_t width = rowBytes(operand.swizzle), row = operand.kMajor ? mn : k;
  int64_t innerByte = (operand.kMajor ? k : mn) * operand.elemBits / 8;
  return innerByte / width * boxBytes(operand) + row * width + innerByte % width;
}

uint64_t swizzleMode(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::None: return 0;
    case Swizzle::Bytes128: return 1;
    case Swizzle::Bytes64: return 2;
    case Swizzle::Bytes32: return 3;
  }
  return 0;
}

uint64_t descriptorBits(const MatrixOperand& operand) {
  auto field = [](uint64_t bytes) { return bytes >> 4 & 0x3fff; };
  return field(leadingByteOffset(operand)) << 16 | field(strideByteOffset(operand)) << 32 |
         swizzleMode(operand.swizzle) << 62;
}

}  // namespace tandem::layout
