// Blocks in turns, and the reports of what ends a launch.
#include "emulator/launch.h"
#include "emulator/counters.h"
#include "emulator/order/order.h"
#include "emulator/order/product_registers.h"
#include "emulator/warp.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tandem::emulator {
namespace {

constexpr uint32_t kTurn = 4000;  // instructions of a warp before the next one's turn
constexpr size_t kParameterAlignment = 128;

uint64_t volume(const Size& size) { return uint64_t(size[0]) * size[1] * size[2]; }

std::string text(const Size& size) {
  return "(" + std::to_string(size[0]) + ", " + std::to_string(size[1]) + ", " + std::to_string(size[2]) + ")";
}

}  // namespace

void Launch::Aligned::operator()(std::byte* at) const { std::free(at); }

Launch::Launch(std::shared_ptr<const Program> program, const Shape& shape, std::vector<std::byte> parameters,
               const GlobalMemory& memory, uint32_t residentBlocks)
    : program_(std::move(program)), shape_(shape), memory_(memory),
      clusterCount_(volume(shape.grid) / volume(shape.cluster)),
      residentClusters_(std::max<size_t>(1, residentBlocks / volume(shape.cluster))) {
  size_t room = (parameters.size() + kParameterAlignment) / kParameterAlignment * kParameterAlignment;
  parameters_.reset(static_cast<std::byte*>(std::aligned_alloc(kParameterAlignment, room)));
  std::copy(parameters.begin(), parameters.end(), parameters_.get());
}

Launch::~Launch() = default;

void Launch::count(Counters* counters) {
  counters_ = counters;
  if (counters) counters->noteLaunch();
}

void Launch::checkOrder() {
  checkProductRegisters(*program_);
  grain_ = grainOf(*program_);
}

uint32_t Launch::multiprocessorOf(const Block& block) const {
  return uint32_t(
      (block.index[0] + uint64_t(shape_.grid[0]) * (block.index[1] + uint64_t(shape_.grid[1]) * block.index[2])) %
      kMultiprocessors);
}

// Clusters start in the order of their indices, and so do the blocks of one.
void Launch::start() {
  uint64_t linear = started_++;
  Size first;
  for (size_t i = 0; i < 3; ++i) {
    uint32_t along = shape_.grid[i] / shape_.cluster[i];
    first[i] = uint32_t(linear % along) * shape_.cluster[i];
    linear /= along;
  }
  auto cluster = std::make_unique<Cluster>(*this);
  for (uint32_t rank = 0; rank < volume(shape_.cluster); ++rank) {
    uint32_t x = rank % shape_.cluster[0], y = rank / shape_.cluster[0] % shape_.cluster[1],
             z = rank / shape_.cluster[0] / shape_.cluster[1];
    cluster->blocks.push_back(std::make_unique<Block>(*cluster, rank, Size{first[0] + x, first[1] + y, first[2] + z}));
  }
  uint32_t warps = (threadsPerBlock() + kLanes - 1) / kLanes;
  if (grain_) cluster->order = std::make_unique<Order>(*cluster, warps, sharedBytes(), grain_);
  clusters_.push_back(std::move(cluster));
}

// A turn of each warp; returns how many instructions they ran.
uint64_t Launch::round(Cluster& cluster) {
  uint64_t count = 0;
  for (auto& block : cluster.blocks)
    for (auto& warp : block->warps) {
      if (warp->hasEnded()) continue;
      try {
        count += warp->run(kTurn);
      } catch (const Fault& fault) {
        report(fault, *warp);
      }
    }
  return count;
}

// The next cluster starts when those that are on their way have had their turns and none has ended: a few at a time
// suffice for most kernels, and all that fit come for those whose blocks wait for each other.
bool Launch::run(uint64_t budget) {
  uint64_t count = 0;
  while (count < budget) {
    uint64_t before = count;
    size_t resident = clusters_.size();
    for (auto& cluster : clusters_) count += round(*cluster);
    std::erase_if(clusters_, [](const std::unique_ptr<Cluster>& cluster) {
      return std::all_of(cluster->blocks.begin(), cluster->blocks.end(), [](auto& block) {
        return std::all_of(block->warps.begin(), block->warps.end(), [](auto& warp) { return warp->hasEnded(); });
      });
    });
    bool canStart = started_ < clusterCount_ && clusters_.size() < residentClusters_;
    if (canStart)
      start();
    else if (clusters_.empty())
      return true;
    else if (count == before && clusters_.size() == resident)
      deadlock();
  }
  return false;
}

std::string placeOf(const Program& program, const Statement& statement) {
  std::string out = "PTX line " + std::to_string(statement.line) + ": " + statement.text;
  auto file = program.module->files.find(statement.sourceFile);
  if (file != program.module->files.end())
    out += "\n    at " + file->second + ":" + std::to_string(statement.sourceLine);
  return out;
}

std::string Launch::placeOf(uint32_t statement) const {
  return emulator::placeOf(*program_, *program_->statements[statement]);
}

void Launch::report(const Fault& fault, const Warp& warp) const {
  std::string who = "kernel `" + program_->function->name + "`, block " + text(warp.block.index) + ", ";
  uint32_t first = warp.index * kLanes;
  who +=
      fault.lane >= 0 ? "thread " + std::to_string(first + uint32_t(fault.lane)) : "warp " + std::to_string(warp.index);
  throw Fault(fault.code, who + ": " + fault.what() + "\n  " + placeOf(warp.current().statement), fault.lane);
}

void Launch::deadlock() {
  std::string out =
      "kernel `" + program_->function->name + "` can never go on: every warp waits for what no other brings";
  constexpr int kMost = 40;
  int told = 0;
  for (auto& cluster : clusters_)
    for (auto& block : cluster->blocks)
      for (auto& warp : block->warps)
        if (!warp->hasEnded() && told++ < kMost)
          out += "\n  block " + text(block->index) + ", warp " + std::to_string(warp->index) + ", lanes " +
                 hex(warp->active()) + ", " + placeOf(warp->current().statement);
  if (told > kMost) out += "\n  and " + std::to_string(told - kMost) + " more";
  throw Fault(Fault::LaunchFailed, out);
}

}  // namespace tandem::emulator
