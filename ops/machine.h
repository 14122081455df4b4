// A Machine has the speeds that the operators' cost model uses. It knows no team and no file.
#pragma once
#include "tandem/tensor.h"
#include <string>

namespace tandem::ops {

// Times are microseconds, rates are per microsecond. The defaults were measured on H200s that all reach each other over
// NVLink.
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

// Returns true if the text is a profile of this version, of such GPUs.
bool isProfileOf(const std::string& gpu, const std::string& profile);
// Reads a profile that `tandem doctor --profile` writes. A speed that the profile lacks is the default's; all are the
// default's if the text is no profile, or one of another GPU than `gpu`.
Machine machineOf(const std::string& profile, const std::string& gpu);

// These write a machine as text and read it back, without loss.
std::string textOf(const Machine& machine);
Machine machineFromText(const std::string& text);

}  // namespace tandem::ops
