// Copies to peers by copy engines, with a handshake at their begin and a signal behind each. The host side of
// collectives of large tensors: no multiprocessor takes part.
#pragma once
#include "tandem/operator.h"

namespace tandem::ops {

// The stream of a call's copies, beside the caller's. One stream: copies to several peers at once, by all ranks, are much
// slower than one after the other, each rank to another peer.
class CopyStream {
 public:
  explicit CopyStream(Team& team) : team_(team) {}
  // The copies come behind what the caller's stream has. Returns their stream; with one rank it is that one.
  int begin(int stream);
  // `from` to the same place on the peer as `to` is here, in symmetric memory: all, or these columns of every row.
  void copy(int peer, const Tensor& to, const Tensor& from, int64_t first = 0, int64_t columns = -1);
  // The caller's stream goes on behind the copies.
  void end();
  // The ranks after this one, the nearest first: so no two ranks send to one peer at once.
  std::vector<int> peers() const;

 protected:
  Team& team_;
  int stream_ = 0, beside_ = 0;  // of the call
};

// On one stream, with all peers, in this order (M13 orders what a stream does):
//   1. begin: wait for the caller's stream, which has ended the last call
//   2.        peer.begun[me] = 1: you may write to me
//   3.        wait for begun[peer] == 1, put it back to 0
//   4. send: copy to the peer, then peer.ready[me] = 1; once to every peer, with or without data, or once for each part
//   5. receive: wait for ready[peer] == 1, put it back to 0; likewise
//   6. end: the caller's stream waits for it
// A peer's 4 comes after my 2, so after my 1: nothing is written into what is still read. Nor is a signal set before
// its last value was put back: a peer's next 2 comes after its 5, so after my 4 and my 3; its next 4 comes after its
// next 3, so after my next 2 and my 5. The signals' values are constants, so a captured call replays as it is.
class PeerCopies : public CopyStream {
 public:
  // Each part of a call has its own signals.
  PeerCopies(Team& team, Memory& memory, int parts = 1);
  // Returns the stream of the copies.
  int begin(int stream);
  // `to` is this rank's address of symmetric memory; `from` is copied to the same address on the peer.
  void send(int peer, const Tensor& to, const Tensor& from, int part = 0);
  void receive(int peer, int part = 0);
  void receiveAll();  // the only part, of the peers that are left

 private:
  // The word of `ready_` by which `from` tells of a part.
  Tensor readyOf(int from, int part) const;

  Tensor begun_, ready_;
  std::vector<bool> isReceived_;  // of the call
};

// A part of a tensor of one dimension.
Tensor elementsOf(const Tensor& t, int64_t first, int64_t count);
// Rows of a tensor that has so many columns.
Tensor rowsOf(const Tensor& t, int64_t first, int64_t rows, int64_t columns);

}  // namespace tandem::ops
