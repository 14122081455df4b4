// The order of tiles as kernels have it, on the simulator, against what the build has made of the same text for the
// models.
#include "ops/device/channels.h"
#include "ops/device/tiles.h"
#include "tandem/tandem.h"
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <random>

namespace tandem::ops {
namespace {

constexpr char kKernels[] = R"(
import tandem
import tandem.language as tl
from ops.device.tiles import gathered_tile, piece_of
from tandem.tilelink import scattered_tile


@tandem.jit
def gathered(out_ptr, count, blocks, columns, GROUP: tl.constexpr):
    for tile in range(count):
        nth, block, column = gathered_tile(tile, blocks, columns, GROUP)
        tl.store(out_ptr + 3 * tile, nth)
        tl.store(out_ptr + 3 * tile + 1, block)
        tl.store(out_ptr + 3 * tile + 2, column)


@tandem.jit
def pieces(out_ptr, count, whole, left):
    for item in range(count):
        tile, piece = piece_of(item, whole, left)
        tl.store(out_ptr + 2 * item, tile)
        tl.store(out_ptr + 2 * item + 1, piece)


@tandem.jit
def scattered(out_ptr, count, ranks, shard_tiles, turn):
    for tile in range(count):
        nth, local = scattered_tile(tile, ranks, shard_tiles, turn)
        tl.store(out_ptr + 2 * tile, nth)
        tl.store(out_ptr + 2 * tile + 1, local)
)";

Kernel kernel(const std::string& name) {
  std::ifstream in(TANDEM_SOURCE_DIR "/ops/device/tiles.py", std::ios::binary);
  std::map<std::string, std::string> files = {{"ops/device/tiles.py", {std::istreambuf_iterator<char>(in), {}}}};
  return Kernel::fromText(kKernels, "ops/test.py", name, files);
}

// Returns the numbers that the kernel stores for `count` tiles, `each` of them for a tile.
std::vector<int64_t> stored(Team& team, const Kernel& kernel, int64_t count, int64_t each,
                            std::vector<Argument> arguments, const Constants& constants = {}) {
  Tensor out = team.localZeros({count * each}, DType::Int64);
  arguments.insert(arguments.begin(), {out, count});
  team.launch(kernel, {}, arguments, constants);
  std::vector<int64_t> host(size_t(count * each));
  team.copyToHost(host.data(), out);
  team.synchronize();
  team.release(out);
  return host;
}

class Shapes {
 public:
  int64_t upTo(int64_t most) { return 1 + int64_t(random_() % uint64_t(most)); }

 private:
  std::mt19937_64 random_{17};
};

TEST(OrderOfTiles, OfGatheredRowsIsTheKernels) {
  launch(
      [](Team& team) {
        Kernel order = kernel("gathered");
        Shapes shapes;
        for (int i = 0; i < 40; ++i) {
          int64_t shards = shapes.upTo(4), blocks = shapes.upTo(12), columns = shapes.upTo(12),
                  group = int64_t(1) << (i % 5);
          int64_t count = shards * blocks * columns;
          std::vector<int64_t> want;
          for (int64_t tile = 0; tile < count; ++tile)
            for (int64_t number : kernels::gathered_tile(tile, blocks, columns, group)) want.push_back(number);
          EXPECT_EQ(stored(team, order, count, 3, {blocks, columns}, {{"GROUP", group}}), want)
              << blocks << " " << columns << " " << group;
        }
      },
      {.ranks = 1});
}

TEST(OrderOfTiles, OfPiecesIsTheKernels) {
  launch(
      [](Team& team) {
        Kernel order = kernel("pieces");
        Shapes shapes;
        for (int i = 0; i < 40; ++i) {
          int64_t whole = shapes.upTo(200) - 1, left = shapes.upTo(60) - 1, count = whole + left * shapes.upTo(8) + 1;
          if (!left) count = whole + 1;
          std::vector<int64_t> want;
          for (int64_t item = 0; item < count; ++item)
            for (int64_t number : kernels::piece_of(item, whole, left)) want.push_back(number);
          EXPECT_EQ(stored(team, order, count, 2, {whole, left}), want) << whole << " " << left;
        }
      },
      {.ranks = 1});
}

TEST(OrderOfTiles, OfScatteredPartsIsTheKernels) {
  launch(
      [](Team& team) {
        Kernel order = kernel("scattered");
        Shapes shapes;
        for (int i = 0; i < 60; ++i) {
          int64_t ranks = shapes.upTo(8), tiles = shapes.upTo(60), turn = shapes.upTo(tiles), count = ranks * tiles;
          std::vector<int64_t> want;
          for (int64_t tile = 0; tile < count; ++tile)
            for (int64_t number : channels::scattered_tile(tile, ranks, tiles, turn)) want.push_back(number);
          EXPECT_EQ(stored(team, order, count, 2, {ranks, tiles, turn}), want) << ranks << " " << tiles << " " << turn;
        }
      },
      {.ranks = 1});
}

// Every tile has its turn once, the own shard first or last.
TEST(OrderOfTiles, LeavesNoTileOut) {
  Shapes shapes;
  for (int i = 0; i < 200; ++i) {
    int64_t ranks = shapes.upTo(8), blocks = shapes.upTo(20), columns = shapes.upTo(20), tiles = blocks * columns;
    int64_t turn = shapes.upTo(tiles);
    std::vector<int> gathered(size_t(ranks * tiles)), scattered = gathered;
    for (int64_t tile = 0; tile < ranks * tiles; ++tile) {
      auto [nth, block, column] = kernels::gathered_tile(tile, blocks, columns, int64_t(1) << (i % 5));
      EXPECT_EQ(nth, tile / tiles);
      ASSERT_TRUE(nth < ranks && block < blocks && column < columns);
      ++gathered[size_t((nth * blocks + block) * columns + column)];
      auto [owner, local] = channels::scattered_tile(tile, ranks, tiles, turn);
      EXPECT_EQ(owner == ranks - 1, tile >= (ranks - 1) * tiles);
      ASSERT_TRUE(owner < ranks && local < tiles);
      ++scattered[size_t(owner * tiles + local)];
    }
    EXPECT_EQ(gathered, std::vector<int>(gathered.size(), 1));
    EXPECT_EQ(scattered, std::vector<int>(scattered.size(), 1));
  }
}

}  // namespace
}  // namespace tandem::ops
