// The hosts' end of a channel of rows: each rank's come to all others by copy engines while one kernel multiplies those
// that are there (tandem.tilelink.StreamChannel).
//
// Behind each copy its stream tells the peer how many slices of a band are there now; where a band has no rows all are.
// The kernel's last program waits until all of the call has arrived, puts these words back to 0 and meets its like on the
// other ranks, so nothing is pushed into what is still read, and no signal is set that has yet to be put back. What
// changes from call to call, the number by which they meet, lives on the device: a captured call replays as it is. A
// write of a signal by a stream takes it about two microseconds: one follows each copy, and there are no others.
#pragma once
#include "ops/gemm_choice.h"
#include "ops/peer_copies.h"

namespace tandem::ops {

class Gathering : public CopyStream {
 public:
  // `bands`: the most of a rank's rows.
  Gathering(Team& team, Memory& memory, int64_t bands = 1);
  // Returns the words that the kernel is given.
  const Tensor& ready() const { return ready_; }
  // This rank's rows `from` to the place that `to` has here, to all peers, in the slices of a product; tells of each copy.
  void send(const Tensor& to, const Tensor& from, const Slices& slices);
  // So many slices of this rank's band, of `bands`, are there for the peer.
  void tell(int peer, int64_t slices, int64_t band = 0, int64_t bands = 1);

 private:
  Tensor ready_;
};

}  // namespace tandem::ops
