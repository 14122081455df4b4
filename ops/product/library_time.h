// What a call takes that multiplies by the vendor's library and moves data by a collective of ours.
#pragma once
#include "ops/gemm_choice.h"

namespace tandem::ops {

// The most rows of a call that goes this way; 0: none does. `columns`: of the rows that travel. `isThere`: every rank
// has the library.
int64_t mostLibraryRows(const GemmConfig& given, DType dtype, int64_t columns, bool isThere);

// Throws Error where the library was asked for and does not multiply this type.
void checkLibrary(const GemmConfig& given, DType dtype);

// Microseconds of the product alone, from its launch, on one rank.
double libraryProductUs(const GemmSizes& sizes, const model::Machine& machine);
// What a collective of `bytes` over the link of a rank adds: small results in packets of one flight.
double packetsUs(double bytes, const model::Machine& machine);

// The call as the one choice, if it may go this way. `aroundUs`: of its collective.
std::vector<GemmChoice> byLibrary(const GemmConfig& given, const GemmSizes& sizes, int64_t columns,
                                  const GemmPlace& place, const model::Machine& machine, double aroundUs);

}  // namespace tandem::ops
