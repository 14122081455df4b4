// The conversions share these functions.
#pragma once
#include "compiler/lower/sim/ptx/assembler.h"

namespace tandem::lower {

struct CvtMode {
  llvm::StringRef rounding;  // "rn", "rzi", ..., or empty
  bool flush = false, saturate = false, finite = false, relu = false;
};
CvtMode takeCvtMode(Assembler& a);
// conversions.cpp
interpreter::Register floatToFloat(Assembler& a, const CvtMode& mode, interpreter::Elem to, interpreter::Register x);
// narrow_formats.cpp: whether the instruction has a format that no register of the simulator has, and then does it.
bool convertNarrowFormat(Assembler& a, const CvtMode& mode);

}  // namespace tandem::lower
