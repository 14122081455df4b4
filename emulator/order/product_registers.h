// Checks the registers of wgmma: until a wgmma.wait_group has waited for it, a product may still write its sums and read
// its left factor; and what other instructions bring to it needs a wgmma.fence.
#pragma once

namespace tandem::emulator {

struct Program;

// Throws Fault with both places if some way through the code breaks these rules.
void checkProductRegisters(const Program& program);

}  // namespace tandem::emulator
