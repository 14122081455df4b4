// The hosts' end of a channel of parts (tandem.tilelink.PartsChannel): what each rank computes for the others goes to them,
// stored by the programs, or in turns by copies from the rank's own memory.
//
// For each turn of places for a peer the stream of copies waits for their number in `brought`, puts that back, copies them
// and tells the peer. So nothing holds a number that changes from call to call, and a captured call replays as it is.
#pragma once
#include "ops/peer_copies.h"

namespace tandem::ops {

class Scattering : public CopyStream {
 public:
  // For parts [rows, columns] of each rank, in at most `tiles` places. `mayCopy`: there are calls whose parts are copied.
  Scattering(Team& team, Memory& memory, int64_t rows, int64_t columns, int64_t tiles, DType dtype, bool mayCopy);
  // False where programs cannot store parts, as the ranks' memories do not lie at one distance: so it may be on simulated ranks.
  bool canStore() const { return canStore_; }
  // What the kernel is given: where parts arrive; the first of the matrices that its programs store to; how many elements one
  // begins behind the other; the words.
  const Tensor& parts() const { return parts_; }
  Tensor first(bool copied) const { return copied ? made_ : team_.peer(parts_, 0); }
  int64_t stride(bool copied) const { return copied || !distance_ ? parts_.size() : distance_; }
  const Tensor& ready(bool copied) const { return copied ? arrived_ : ready_; }
  const Tensor& brought() const { return brought_; }
  const Tensor& begun() const { return begun_; }
  // Copies the parts of `tiles` places of `bytes`, `turn` of a peer's at once, in the order in which the kernel makes them.
  void send(int64_t tiles, int64_t turn, uint64_t bytes);

 private:
  Tensor parts_, made_, ready_, arrived_, brought_, begun_;
  int64_t distance_ = 0;  // from one rank's parts to the next one's, in elements
  bool canStore_ = true;
};

}  // namespace tandem::ops
