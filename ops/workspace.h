// Memory that a rank's operators of one kind share: layers of a model, which run one after the other, need it once. Pieces are
// asked for when operators are made, which is collective, so symmetric ones are the same on all ranks.
#pragma once
#include "tandem/team.h"

namespace tandem::ops {

// [collective, blocks where a larger symmetric piece is needed] A tensor at the beginning of the piece of that name.
Tensor fromWorkspace(Team& team, const std::vector<int64_t>& shape, DType dtype, const std::string& name,
                     bool isSymmetric);
// One user less; the last one gives the piece back.
void leaveWorkspace(Team& team, const Tensor& tensor);

}  // namespace tandem::ops
