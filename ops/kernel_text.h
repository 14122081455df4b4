// The operators' kernels, embedded at build time from the .py files beside their host code.
#pragma once

namespace tandem::ops {

extern const char* const kAgGemmText;
extern const char* const kGemmRsText;
extern const char* const kGemmArText;
extern const char* const kTwoShotText;
extern const char* const kWordsText;

}  // namespace tandem::ops
