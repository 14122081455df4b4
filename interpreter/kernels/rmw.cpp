// The arithmetic of one atomic read-modify-write; that nothing comes between is the caller's affair.
#include "interpreter/kernels/elem_traits.h"
#include "interpreter/kernels/kernels.h"
#include <cstring>

namespace tandem::interpreter {
namespace {

std::optional<BinaryOp> binaryOf(RmwOp op, bool onFloat) {
  switch (op) {
    case RmwOp::Add:
    case RmwOp::FAdd: return onFloat ? BinaryOp::AddF : BinaryOp::AddI;
    case RmwOp::And: return BinaryOp::And;
    case RmwOp::Or: return BinaryOp::Or;
    case RmwOp::Xor: return BinaryOp::Xor;
    case RmwOp::Max: return onFloat ? BinaryOp::MaxNumF : BinaryOp::MaxS;
    case RmwOp::Min: return onFloat ? BinaryOp::MinNumF : BinaryOp::MinS;
    case RmwOp::UMax: return BinaryOp::MaxU;
    case RmwOp::UMin: return BinaryOp::MinU;
    case RmwOp::Xchg: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

bool applyRmw(RmwOp op, Elem elem, void* memory, const void* value, void* old) {
  alignas(8) std::byte seen[8], operand[8], result[8];
  uint32_t bytes = byteSize(elem);
  std::memcpy(seen, memory, bytes);
  std::memcpy(operand, value, bytes);
  std::memcpy(result, operand, bytes);
  if (op != RmwOp::Xchg) {
    std::optional<BinaryOp> binary = binaryOf(op, isFloat(elem));
    BinaryKernel kernel = binary ? binaryKernel(*binary, elem) : nullptr;
    if (!kernel) return false;
    kernel(seen, operand, result, 1);
  }
  std::memcpy(memory, result, bytes);
  std::memcpy(old, seen, bytes);
  return true;
}

}  // namespace tandem::interpreter
