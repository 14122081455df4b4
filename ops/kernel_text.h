// The operators' kernels, embedded at build time from the .py files beside their host code.
#pragma once

namespace tandem::ops {

extern const char* const kAgGemmText;
extern const char* const kGemmRsText;

}  // namespace tandem::ops
