// A TargetInfo answers questions about a GPU's features and sizes, so that nothing else compares names of
// architectures.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tandem::target {

enum class Vendor { Nvidia };

// This row describes a GPU. A feature that a row of the table does not name is not there.
struct Gpu {
  const char* name;
  Vendor vendor = Vendor::Nvidia;
  const char* features = "";  // LLVM's feature string
  int warpSize = 32;
  int registersPerMultiprocessor = 65536, threadsPerMultiprocessor = 2048, blocksPerMultiprocessor = 32;
  int mostMultiprocessors = 0;                                 // of the GPUs of this kind
  int maxSharedBytes = 48 * 1024, sharedBytesReserved = 1024;  // of a block
  int maxClusterSize = 1;
  bool wgmma = false, tma = false, ldmatrix = false, stmatrix = false, setMaxRegister = false, mbarrierTryWait = false,
       multimem = false, bf16Atomics = false, fp8Mma = false, emulatesFp8Mma = false, f64Mma = false,
       fp8Convert = false, slowShuffleAssembly = false, vectorAtomics = false;
};

class TargetInfo {
 public:
  explicit TargetInfo(const Gpu& gpu) : gpu_(gpu), name_(gpu.name), features_(gpu.features) {}

  // "sm_80", "sm_89" or "sm_90a"; another name is a CompileError of kind "unknown-target" that lists these. Each may go
  // on with "+trace": kernels then write down when their programs begin, wait and end (abi/trace.h); and with
  // "+nvshmem": peers are then reached through NVSHMEM's device functions.
  static const TargetInfo& named(std::string_view name);
  // Null where there is none of this name.
  static const TargetInfo* find(std::string_view name);
  static std::vector<std::string> knownNames();

  const std::string& name() const { return name_; }
  // Returns the name that LLVM and ptxas use: the target without its suffixes.
  std::string architecture() const { return gpu_.name; }
  Vendor vendor() const { return gpu_.vendor; }
  bool usesNvshmem() const { return name_.ends_with("+nvshmem"); }
  bool recordsTrace() const { return name_.find("+trace") != name_.npos; }
  // LLVM's feature string: the PTX version that code for this target is written in.
  const std::string& features() const { return features_; }

  int warpSize() const { return gpu_.warpSize; }
  int registersPerMultiprocessor() const { return gpu_.registersPerMultiprocessor; }
  int threadsPerMultiprocessor() const { return gpu_.threadsPerMultiprocessor; }
  int blocksPerMultiprocessor() const { return gpu_.blocksPerMultiprocessor; }
  int mostMultiprocessors() const { return gpu_.mostMultiprocessors; }
  // Shared memory of a multiprocessor, of which each block takes what it asks for and `sharedBytesReserved`.
  int sharedBytesPerMultiprocessor() const { return maxSharedBytes() + sharedBytesReserved(); }
  int sharedBytesReserved() const { return gpu_.sharedBytesReserved; }
  // Dynamic shared memory that one block may ask for.
  int maxSharedBytes() const { return gpu_.maxSharedBytes; }
  // Blocks of a cluster that every device of the target can hold; 1 where there are no clusters.
  int maxClusterSize() const { return gpu_.maxClusterSize; }

  bool hasWgmma() const { return gpu_.wgmma; }
  bool hasTma() const { return gpu_.tma; }
  bool hasClusters() const { return gpu_.maxClusterSize > 1; }
  bool hasLdmatrix() const { return gpu_.ldmatrix; }
  bool hasStmatrix() const { return gpu_.stmatrix; }
  bool hasSetMaxRegister() const { return gpu_.setMaxRegister; }
  // mbarrier.try_wait, which suspends the waiting warp; before, only the polling test_wait.
  bool hasMbarrierTryWait() const { return gpu_.mbarrierTryWait; }
  bool hasMultimem() const { return gpu_.multimem; }
  bool hasBf16Atomics() const { return gpu_.bf16Atomics; }
  bool hasVectorAtomics() const { return gpu_.vectorAtomics; }
  bool hasFp8Mma() const { return gpu_.fp8Mma; }
  // ptxas makes each mma.sync of 8-bit floats of two of 16-bit floats, and adds their sums to the result by itself.
  bool emulatesFp8Mma() const { return gpu_.emulatesFp8Mma; }
  // mma.sync of float64 in the shape of tf32.
  bool hasF64Mma() const { return gpu_.f64Mma; }
  bool hasFp8Convert() const { return gpu_.fp8Convert; }
  // ptxas takes time that grows by the square of a basic block's shuffles.
  bool hasSlowShuffleAssembly() const { return gpu_.slowShuffleAssembly; }

 private:
  static const std::vector<TargetInfo>& table();

  Gpu gpu_;
  std::string name_, features_;
};

}  // namespace tandem::target
