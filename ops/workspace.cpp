// Pieces of shared memory with their users. Who needs more than there is gets a new piece; the old one stays for its users,
// whose captured calls know its address.
#include "ops/workspace.h"
#include "api/handles.h"
#include "tandem/operator.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace tandem::ops {
namespace {

struct Pieces {
  explicit Pieces(Team& team) : guard(team.session()->sharing), all(team.session()->shared[team.rank()]) {}
  std::lock_guard<std::mutex> guard;
  std::multimap<std::string, SharedMemory>& all;
};

}  // namespace

Tensor fromWorkspace(Team& team, const std::vector<int64_t>& shape, DType dtype, const std::string& name,
                     bool isSymmetric) {
  Tensor wanted{0, shape, dtype};
  {
    Pieces pieces(team);
    auto [begin, end] = pieces.all.equal_range(name);
    for (auto it = begin; it != end; ++it) {
      SharedMemory& piece = it->second;
      if (piece.isOutgrown) continue;
      if (piece.bytes >= wanted.bytes()) {
        ++piece.users;
        wanted.address = piece.address;
        return wanted;
      }
      piece.isOutgrown = true;
    }
  }
  // Ranks that are threads wait for each other in here.
  std::string called = "workspace " + name;
  wanted.address = (isSymmetric ? team.empty(shape, dtype, called) : team.localZeros(shape, dtype, called)).address;
  Pieces(team).all.emplace(name, SharedMemory{wanted.address, wanted.bytes(), isSymmetric, 1});
  return wanted;
}

void leaveWorkspace(Team& team, const Tensor& tensor) {
  {
    Pieces pieces(team);
    auto it = std::find_if(pieces.all.begin(), pieces.all.end(),
                           [&](const auto& piece) { return piece.second.address == tensor.address; });
    if (--it->second.users) return;
    pieces.all.erase(it);
  }
  team.release(tensor);
}

std::string workspaceReport(Team& team) {
  nlohmann::json out = nlohmann::json::array();
  for (const auto& [name, piece] : Pieces(team).all)
    out.push_back({{"name", name}, {"bytes", piece.bytes}, {"symmetric", piece.isSymmetric}, {"users", piece.users}});
  return out.dump();
}

}  // namespace tandem::ops
