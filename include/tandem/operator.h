// All operators over ranks have this interface: an operator is made for sizes and a type, called with the tensors and
// numbers that its table (ops/<name>/<name>.cpp) lists, and closed. The classes of the single operators, in
// `tandem/ops/<name>.h`, offer the same with types.
#pragma once
#include "tandem/team.h"
#include <memory>

namespace tandem::ops {

// Rows of an M-row matrix that rank r holds when it is sharded over `ranks`: cdiv(M, ranks), fewer (or none) on the
// last ones. Throws Error where `ranks` is below 1.
TANDEM_API int64_t shardRows(int64_t m, int ranks);
TANDEM_API int64_t rowsOfRank(int64_t m, int ranks, int rank);

struct Table;

// A call's arguments, in the table's order.
struct Call {
  std::vector<Tensor> tensors;
  std::vector<int64_t> numbers;
  int stream = 0;
};

struct MemoryBytes {
  int64_t symmetric = 0, local = 0;  // of this rank
};

// An operator's memory, named after it.
class TANDEM_API Memory {
 public:
  Memory(Team& team, const std::string& owner) : team_(team), owner_(owner) {}
  // Symmetric [collective, blocks]; of this rank alone.
  Tensor symmetricEmpty(const std::vector<int64_t>& shape, DType dtype, const std::string& name);
  Tensor symmetricZeros(const std::vector<int64_t>& shape, DType dtype, const std::string& name);
  Tensor localZeros(const std::vector<int64_t>& shape, DType dtype, const std::string& name);
  // Memory that nobody reads after the call: with `isShared`, of the workspace that the rank's operators of this kind share.
  Tensor symmetricScratch(const std::vector<int64_t>& shape, DType dtype, const std::string& name);
  Tensor localScratch(const std::vector<int64_t>& shape, DType dtype, const std::string& name);
  void share(bool isShared) { isShared_ = isShared; }
  void release();
  const MemoryBytes& bytes() const { return bytes_; }

 private:
  Tensor scratch(const std::vector<int64_t>& shape, DType dtype, const std::string& name, bool isSymmetric);

  Team& team_;
  std::string owner_;
  bool isShared_ = false;
  std::vector<Tensor> all_, shared_;
  MemoryBytes bytes_;  // of `all_`
};

// The memory that a rank's operators share, as JSON: for each piece its name, bytes, whether it is symmetric, and how many
// operators use it.
TANDEM_API std::string workspaceReport(Team& team);

// Construction, calls and close() are collective and may wait for other ranks, except of an operator of one rank alone,
// such as attention or a grouped product. Without close() the memory lives until the run ends. One operator serves one
// stream at a time. Calls are safe to capture once and replay: state that changes from call to call lives on the device.
class TANDEM_API Operator {
 public:
  Operator(const Operator&) = delete;
  virtual ~Operator();

  // Queues a call. Throws Error that names the operator and the argument, with the value seen and the value needed. So
  // it does where an earlier call has found that of data on the device, from which nothing was computed then. The
  // memory of an output overlaps that of no other tensor of the call, but `out` of AllReduce and Broadcast may be `x`.
  void call(const Call& call);
  // The same of contiguous tensors at these addresses, whose shapes and types follow from the table.
  void callAt(const std::vector<uint64_t>& addresses, const std::vector<int64_t>& numbers, int stream);
  // [collective, blocks] Tries ways to carry out calls like this one and keeps the best. JSON: {"config", "predicted",
  // "measured", "untuned" (microseconds), "tried" (0: it was known)}. Throws Error where there is nothing to choose.
  std::string tuneAt(const std::vector<uint64_t>& addresses, const std::vector<int64_t>& numbers, int stream);
  // The memory that it has for itself and its parts, without what it shares with others of its kind.
  MemoryBytes memory() const;
  // [collective, blocks] Gives the memory back. Throws Error where a call has found data that it could not use. A second
  // call does nothing.
  void close();

 protected:
  // Checks sizes, type and options (`config`: the struct that the table's options read), and tells the other ranks.
  Operator(const Table& table, Team& team, std::vector<int64_t> sizes, DType dtype, const void* config);

  // Queues a call whose arguments are checked.
  virtual void queue(const Call& call) = 0;
  virtual std::string tune(const Call& call);
  // The operators that this one is made of, which close with it.
  virtual std::vector<Operator*> parts() const { return {}; }

  // Words in which kernels tell of data on the device that they cannot use (ops/findings.h): the next call, close() or
  // Team::synchronize() throws.
  const Tensor& findings();

  const Table& table_;
  Team& team_;
  DType dtype_;
  Memory memory_;  // released by close()

 private:
  void checkOpen() const;
  void checkTensorCount(size_t given) const;
  const Call& at(const std::vector<uint64_t>& addresses, const std::vector<int64_t>& numbers, int stream);
  bool isLikeLast(const std::vector<uint64_t>& addresses, const std::vector<int64_t>& numbers) const;
  void begin(const Call& call);
  void checkSymmetric(const Call& call);
  void raiseFindings();
  std::string takeFindings();
  void release();

  std::vector<int64_t> sizes_;
  std::vector<bool> transposed_;          // of each tensor of the table
  std::map<std::string, int64_t> flags_;  // of the table's options, numbers among them
  uint64_t op_ = 0;                       // for its calls
  HostWords findings_;                    // none until they are asked for
  Call last_;                             // of callAt: shapes and types are worked out once for calls that are alike
  std::vector<bool> hadAddress_;          // of each tensor of that call
  bool closed_ = false;
};

}  // namespace tandem::ops
