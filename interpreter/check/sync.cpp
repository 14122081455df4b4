// This file keeps the updates of a place, and forgets the older half when there are too many.
#include "interpreter/check/sync.h"

namespace tandem::interpreter::check {

void SyncPlace::wrote(UpdatePoint update, uint64_t old, bool reads) {
  Stamp by = update.by;
  // Somebody else has written here: a wait can no longer see the values before that.
  if (newest() > before_ && old != value_) {
    forgetUpTo(newest());
    forgotten_ = Stamp();
    lastSeen_ = before_;
  }
  if (newest() == before_) initial_ = old;
  value_ = update.value;
  bool isLook = reads && old == value_ && isAcquired();
  update.chain = std::max(chain_, firstRelease_);
  update.end = endOfReleases();
  const UpdatePoint* previous = updates_.empty() ? nullptr : &updates_.back();
  bool isAlike = previous && previous->commuting && update.commuting && update.commuting->isLike(*previous->commuting);
  updates_.push_back(update);
  if (!isAlike) sameKindSince_ = newest();
  if (update.sets || update.clears) lastSet_ = newest();
  auto [author, isNew] = authorOf_.try_emplace({by.actor, by.part});
  if (isNew)
    author->second = authors_.insert(authors_.begin(), {by.actor, by.part, {}});
  else
    authors_.splice(authors_.begin(), authors_, author->second);
  authors_.front().numbers.push_back(newest());
  if (isLook) comesAfter(by, newest());
}

const ReleaseBlock* SyncPlace::blockAt(uint64_t number) {
  if (number < firstRelease_ || number + kBlock > endOfReleases()) return nullptr;
  auto [known, isNew] = blocks_.try_emplace(number);
  std::optional<ReleaseBlock>& block = known->second;
  if (!isNew) return block ? &*block : nullptr;
  block.emplace();
  for (uint64_t k = number; k < number + kBlock; ++k) {
    const Release& r = release(k);
    if (r.scope != Scope::Sys || r.fence != Scope::Sys || r.carriesChain) {
      block.reset();
      return nullptr;
    }
    r.addTo(block->brings);
    r.addAllTo(block->all);
  }
  return &*block;
}

void SyncPlace::carryOn(uint32_t actor, Part part, std::optional<Scope> released) {
  auto author = authorOf_.find({actor, part});
  if (author == authorOf_.end()) return;
  uint64_t last = author->second->numbers.back(), end = update(last)->end;
  const UpdatePoint* before = update(last - 1);
  for (uint64_t k = std::max(before ? before->end : 0, firstRelease_); k < end; ++k) {
    Release own = release(k);
    if (!own.isOfThread || own.actor != actor || own.part != part || (released && own.scope <= *released)) continue;
    own.carriesChain = false;
    add(std::move(own));
  }
}

void SyncPlace::forgetUpTo(uint64_t number) {
  updates_.erase(updates_.begin(), updates_.begin() + long(number - before_));
  before_ = number;
  for (auto a = authors_.begin(); a != authors_.end();) {
    a->numbers.erase(a->numbers.begin(), std::upper_bound(a->numbers.begin(), a->numbers.end(), number));
    if (a->numbers.empty()) {
      authorOf_.erase({a->actor, a->part});
      a = authors_.erase(a);
    } else {
      ++a;
    }
  }
}

// Releases of earlier chains go, too; those of the current chain are joined by rank and scope.
void SyncPlace::forgetHalf() {
  const UpdatePoint& last = updates_[(updates_.size() - 1) / 2];
  forgotten_ = last.by;
  uint64_t end = last.end, chain = (&last)[1].chain;
  uint64_t begin = std::min(std::max(chain, firstRelease_), end);
  std::vector<Release> kept;
  for (uint64_t k = begin; k < end; ++k) {
    Release& r = releases_[k - firstRelease_];
    auto same = std::find_if(kept.begin(), kept.end(), [&](const Release& o) {
      return o.rank == r.rank && o.scope == r.scope && (r.scope != Scope::Cta || o.actor == r.actor);
    });
    if (same == kept.end()) {
      kept.push_back(std::move(r));
      continue;
    }
    Clock both;
    same->addTo(both);
    r.addTo(both);
    r.common = std::move(both);
    r.isOfThread = false;
    r.partTime = 0;  // a reader that knows the last of them need not know all
    *same = std::move(r);
  }
  releases_.erase(releases_.begin(), releases_.begin() + long(end - firstRelease_ - kept.size()));
  firstRelease_ = end - kept.size();
  std::move(kept.begin(), kept.end(), releases_.begin());
  taken.clear();
  blocks_.clear();
  forgetUpTo(newest() - updates_.size() / 2);
}

}  // namespace tandem::interpreter::check
