// What instructions do besides their results.
#pragma once
#include "interpreter/op.h"

namespace tandem::interpreter {

// Returns true if the op computes its results and does nothing else, not even report; a division of integers may.
constexpr bool computes(Op op) {
  switch (op) {
    case Op::Constant:
    case Op::Copy:
    case Op::MaskedCopy:
    case Op::Splat:
    case Op::Unary:
    case Op::Binary:
    case Op::MulExtended:
    case Op::Compare:
    case Op::Select:
    case Op::Fma:
    case Op::Clamp:
    case Op::Convert:
    case Op::ProgramId:
    case Op::NumPrograms:
    case Op::MakeRange:
    case Op::Reshape:
    case Op::Broadcast:
    case Op::Permute:
    case Op::Join:
    case Op::Split:
    case Op::Cat:
    case Op::AddPtr:
    case Op::Dot:
    case Op::DotScaled:
    case Op::Rank:
    case Op::NumRanks:
    case Op::ConsumeToken:
    case Op::Tid:
    case Op::Ntid:
    case Op::Vector:
    case Op::VectorExtract:
    case Op::VectorBitcast:
    case Op::Deal:
    case Op::Collect: return true;
    default: return false;
  }
}

// Returns true for what decides which instruction is next, or which threads are active.
constexpr bool isControl(Op op) {
  switch (op) {
    case Op::Jump:
    case Op::Branch:
    case Op::ForTest:
    case Op::LoopBack:
    case Op::IfBegin:
    case Op::IfElse:
    case Op::IfEnd:
    case Op::LoopBegin:
    case Op::LoopTest:
    case Op::LoopEnd: return true;
    default: return false;
  }
}

}  // namespace tandem::interpreter
