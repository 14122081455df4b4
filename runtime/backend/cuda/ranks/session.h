// The multi-GPU session on NVIDIA GPUs.
#pragma once
#include "runtime/ranks/session.h"

namespace tandem::runtime::cuda {

// A transport is the way in which ranks reach each other; a session's `transport` option chooses it.
enum class Transport : uint8_t {
  Automatic,  // through NVSHMEM when some rank cannot reach another's device
  NvLink,     // by mapped memory
  Nvshmem,
};
Transport transportOf(const std::string& word);  // "auto", "nvlink", "nvshmem"; throws on others

struct RanksOptions : ranks::RanksOptions {
  Transport transport = Transport::Automatic;
};

// Throws Unavailable without a driver or a device, std::invalid_argument on options that do not fit. The ranks meet in
// enter().
std::unique_ptr<runtime::Session> makeSession(const RanksOptions& options);

}  // namespace tandem::runtime::cuda
