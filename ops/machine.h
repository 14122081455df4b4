// What the operators' cost model knows of a machine. Knows no team and no file.
#pragma once
#include "tandem/tensor.h"
#include <string>

namespace tandem::ops {

// Microseconds, and what is done in one. The defaults were measured on H200s that all reach each other over NVLink.
struct Machine {
  double copyBytes = 392e3;       // by a rank's copy engine to one peer, while all ranks do the same
  double storeBytes = 360e3;      // by stores of its programs to one peer
  double copyUs = 6.2;            // of a copy and the signal behind it, beside its bytes
  double roundTripUs = 3;         // of a signal to a peer's kernel and one back
  double launchUs = 3;            // from one kernel's start to the next one's
  double bf16Operations = 768e6;  // of a product on all multiprocessors, without begin and end
  double fp8Operations = 1434e6;  // a profile has them in proportion to bf16's, which it measures
  double aloneRatio = 1.19;       // how much faster one of few programs multiplies than one of all

  double operations(DType dtype) const;
};

// Whether the text is a profile of this version, of such GPUs.
bool isProfileOf(const std::string& gpu, const std::string& profile);
// Of the profile that `tandem doctor --profile` writes; the default of what it lacks, and of everything where it is none, or of
// another GPU than `gpu`.
Machine machineOf(const std::string& profile, const std::string& gpu);

// As text and back, without loss.
std::string textOf(const Machine& machine);
Machine machineFromText(const std::string& text);

}  // namespace tandem::ops
