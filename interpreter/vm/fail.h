// A handler reports a program's mistakes by these functions.
#pragma once
#include "interpreter/memory/access.h"

namespace tandem::interpreter {

// The diagnostic place of location `index`, with a note for each call it was inlined through.
Diagnostic placeOf(const Program& program, uint32_t location);
// "rank 1, program (0,0,0)"
std::string whoText(int rank, const std::array<int32_t, 3>& id);
std::string hex(uint64_t value);
// "script.py:12" and below it the text of that line, where the file can be read.
std::string hostLineText(const std::string& file, uint32_t line);
// "`buf`[16..24)" of rank r's memory; or the bare address
std::string addressText(Machine& m, Address address, uint64_t bytes);
// Describes the fault of an address that is not in a live symmetric buffer: "address 0x10 is in no symmetric buffer".
std::string notSymmetricText(Machine& m, Address address, int team);  // of the kernel
// Returns the place where the run's `symm_at` gave such an address, or one in the same gap between buffers.
std::vector<Diagnostic> strayNotes(Machine& m, const Run& run, Address address);

// Adds an error report at the instruction. Gives Step::Failed.
Step fail(Machine& m, const Run& run, const Prepared& i, ReportKind kind, std::string message,
          std::vector<Diagnostic> notes = {});
// Does the same for any actor that an Accessor names.
bool failAccess(Accessor& who, ReportKind kind, std::string message, std::vector<Diagnostic> notes = {});
Diagnostic note(std::string message);

}  // namespace tandem::interpreter
