// AllToAll.
#pragma once
#include "tandem/collective_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class PeerCopies;
class Packets;
struct Counts;

struct AllToAllConfig : CollectiveConfig {
  // up to this many bytes, the most that a rank sends to one times the ranks, travel in packets
  int64_t packetsBytes = 128 << 20;
};

// Every rank sends rows to every rank, of any element type: x has the rows for rank 0, then those for rank 1, and so
// on; out gets the rows from rank 0, from rank 1, and so on. Small ones travel in packets, large ones by copy engines.
class TANDEM_API AllToAll : public Operator {
 public:
  // No rank may send or get more than cdiv(maxM, ranks) * ranks rows.
  AllToAll(Team& team, int64_t maxM, int64_t columns, DType dtype, const AllToAllConfig& config = {});
  ~AllToAll() override;
  // `counts`, the same on every rank: {m}, each rank sends rowsOfRank(m, ranks, r) rows to rank r; or ranks * ranks
  // numbers, how many rows rank i sends to rank j at i * ranks + j. x: [rows sent, columns], out: [rows received,
  // columns]. `symmetricOut`: out is the same symmetric tensor on every rank, of the most rows that one gets, so that
  // copies need no workspace. Queued on `stream`.
  void run(const Tensor& x, const Tensor& out, const std::vector<int64_t>& counts, int stream = 0,
           bool symmetricOut = false) {
    std::vector<int64_t> numbers = {symmetricOut};
    numbers.insert(numbers.end(), counts.begin(), counts.end());
    call({{x, out}, numbers, stream});
  }

 private:
  void queue(const Call& call) override;
  void runPackets(const Tensor& x, const Tensor& out, const Counts& counts, int64_t mostRows, int stream);
  void runCopies(const Tensor& x, const Tensor& out, const Counts& counts, int stream, bool symmetricOut);
  void writePlaces(const Counts& counts, int64_t row, int stream);
  int64_t sentBefore(const Counts& counts, int from, int to) const;      // rows of `from` for ranks before `to`
  int64_t receivedBefore(const Counts& counts, int from, int to) const;  // rows for `to` from ranks before `from`

  int64_t columns_, packetsBytes_;
  std::unique_ptr<Packets> packets_;
  std::unique_ptr<PeerCopies> copies_;
  Tensor landing_, places_;
};

}  // namespace tandem::ops
