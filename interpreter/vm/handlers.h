// The handlers, one an op or a family of ops, by name in op.def.
#pragma once
#include "interpreter/vm/prepared.h"

namespace tandem::interpreter {

namespace handlers {
#define TANDEM_OP(name, word, handler, ...) Step handler(Machine&, Run&, const Prepared&);
#include "interpreter/op.def"
Step jumpBack(Machine&, Run&, const Prepared&);   // a jump at the end of a loop
Step jumpSpin(Machine&, Run&, const Prepared&);   // such a jump of a loop that may spin
Step division(Machine&, Run&, const Prepared&);   // of integers, whose result no select and no mask may leave out
Step malformed(Machine&, Run&, const Prepared&);  // of an instruction that cannot run
}  // namespace handlers

// A handler specialised for one-value registers, or null.
Handler scalarHandler(const PreparedProgram& program, const Instruction& i, const Prepared& p);

// Runs [begin, end) of a region to its end. Says false after a report.
bool runCode(Machine& m, Run& run, uint32_t begin, uint32_t end);

}  // namespace tandem::interpreter
