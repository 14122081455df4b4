// A TargetInfo answers questions about a GPU's features and sizes, so that no pass compares architecture numbers.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tandem::target {

class TargetInfo {
 public:
  // "sm_80", "sm_89" or "sm_90a"; another name is a CompileError of kind "unknown-target" that lists these. Each may go on with
  // "+trace": kernels then write down when their programs begin, wait and end (abi/trace.h); and with "+nvshmem": peers are then reached
  // through NVSHMEM's device functions.
  static const TargetInfo& named(std::string_view name);
  static std::vector<std::string> knownNames();

  const std::string& name() const { return name_; }
  // Returns the name that LLVM and ptxas use: the target without its suffixes.
  std::string architecture() const { return name_.substr(0, name_.find('+')); }
  bool usesNvshmem() const { return name_.ends_with("+nvshmem"); }
  bool recordsTrace() const { return name_.find("+trace") != name_.npos; }
  // LLVM's feature string: the PTX version that code for this target is written in.
  const std::string& features() const { return features_; }

  int warpSize() const { return 32; }
  int registersPerMultiprocessor() const { return 65536; }
  int threadsPerMultiprocessor() const { return threadsPerMultiprocessor_; }
  int blocksPerMultiprocessor() const { return blocksPerMultiprocessor_; }
  // Shared memory of a multiprocessor, of which each block takes what it asks for and `sharedBytesReserved`.
  int sharedBytesPerMultiprocessor() const { return maxSharedBytes_ + sharedBytesReserved(); }
  int sharedBytesReserved() const { return 1024; }
  // Dynamic shared memory that one block may ask for.
  int maxSharedBytes() const { return maxSharedBytes_; }
  // Blocks of a cluster that every device of the target can hold; 1 where there are no clusters.
  int maxClusterSize() const { return hasHopper_ ? 8 : 1; }

  bool hasWgmma() const { return hasHopper_; }
  bool hasTma() const { return hasHopper_; }
  bool hasClusters() const { return hasHopper_; }
  bool hasStmatrix() const { return hasHopper_; }
  bool hasSetMaxRegister() const { return hasHopper_; }
  // mbarrier.try_wait, which suspends the waiting warp; before, only the polling test_wait.
  bool hasMbarrierTryWait() const { return hasHopper_; }
  bool hasMultimem() const { return hasHopper_; }
  bool hasBf16Atomics() const { return hasHopper_; }
  bool hasVectorAtomics() const { return hasHopper_; }
  bool hasFp8Mma() const { return hasFp8_; }
  bool hasFp8Convert() const { return hasFp8_; }
  // ptxas takes time that grows by the square of a basic block's shuffles.
  bool hasSlowShuffleAssembly() const { return !hasHopper_; }

 private:
  TargetInfo(std::string name, int maxSharedBytes, int threadsPerMultiprocessor, int blocksPerMultiprocessor, bool hasFp8, bool hasHopper)
      : name_(std::move(name)),
        features_("+ptx86"),
        maxSharedBytes_(maxSharedBytes),
        threadsPerMultiprocessor_(threadsPerMultiprocessor),
        blocksPerMultiprocessor_(blocksPerMultiprocessor),
        hasFp8_(hasFp8),
        hasHopper_(hasHopper) {}
  static std::vector<TargetInfo> withAdditions(std::vector<TargetInfo> architectures);
  static const std::vector<TargetInfo>& table();

  std::string name_;
  std::string features_;
  int maxSharedBytes_, threadsPerMultiprocessor_, blocksPerMultiprocessor_;
  bool hasFp8_;
  bool hasHopper_;
};

}  // namespace tandem::target
