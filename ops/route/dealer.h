// Launches of the kernel that deals tokens to experts.
#pragma once
#include "ops/route/blocks.h"
#include "tandem/operator.h"

namespace tandem::ops {

class Dealer {
 public:
  // `scored`: how many experts are chosen among by logits; 0: ids are given. `findings`: where the kernel tells of those
  // that are no expert's, if it does.
  Dealer(Team& team, Memory& memory, int64_t maxM, int64_t experts, int64_t topK, int64_t scored,
         const DealConfig& config, const Tensor& findings = {});
  // ids [m, topK] and weights, with the route. With scores ids are its own and `constants` say how they are found. `spans`:
  // of experts whose places are asked for (PLACES in ops/route/route.py).
  struct Given {
    Tensor logits, bias, ids, weights, spans = {};
  };
  void launch(const Given& given, const Tensor& route, int64_t m, int stream, const Constants& constants);
  const Tensor& ids() const { return ids_; }
  // For a kernel some of whose programs gather the ids of m tokens while others work, and deal them, too, if that is quick.
  struct Inside {
    int programs;
    bool deals;  // one alone, or each a range of tokens and the last one the blocks
  };
  Inside inside(int64_t m) const;
  // The constants of `deal` that depend on sizes, and what it counts in.
  Constants constantsInside(int64_t m) const { return constantsOf(m, inside(m).programs); }
  const Tensor& counts() const { return counts_; }

 private:
  // How the tokens of a shard are divided.
  struct Ranges {
    int64_t parts, tokens;
    bool isMany;  // a program for each
    int warps;
    int64_t writers = 0;  // programs behind these, of blocks
  };
  Ranges rangesFor(int64_t m) const;
  int64_t sharedWords(const Ranges& ranges) const;
  int64_t clan() const;
  int64_t mostClans() const;
  int64_t lanesFor(const Ranges& ranges) const;
  Constants constantsOf(int64_t m, int64_t programs) const;

  Team& team_;
  int64_t experts_, topK_, scored_;
  DealConfig config_;
  Tensor ids_, counts_, clans_, findings_;
};

}  // namespace tandem::ops
