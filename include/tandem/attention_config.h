// The options that attention and its gradients share.
#pragma once
#include "tandem/tensor.h"

namespace tandem::ops {

// Sequences stand behind one another in the rows of q, k and v. Query i of a sequence has its diagonal at key i + its keys -
// its queries, or at key i with `topLeft`. 0 leaves the choice to the operator.
struct AttentionConfig {
  bool causal = false;         // a query sees the keys up to its diagonal
  bool topLeft = false;        // diagonals begin at the first key, else they end at the last one
  bool varlen = false;         // sequences of any lengths, by cu_q and cu_kv; else all have the same
  int window = 0;              // a query sees the keys less than this far from its diagonal; 0: all
  double scale = 0;            // of the products; 0: 1 / sqrt(d)
  double softcap = 0;          // scores s become softcap * tanh(s / softcap); 0: they stay
  int blockM = 0, blockN = 0;  // queries and keys of a tile
  int numWarps = 0, numStages = 0;
};

}  // namespace tandem::ops
