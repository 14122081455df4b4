// Memory of the host that kernels use where it lies: by its place in the heap and by its own addresses, as long as it
// is mapped.
#include "interpreter/test/program_builder.h"
#include <gtest/gtest.h>

namespace tandem::interpreter::test {
namespace {

// Adds 1 to the i32 at an address.
ProgramPtr increment() {
  ProgramBuilder b;
  Register p = b.pointerArgument("p", Elem::I32);
  b.store(p, b.binary(BinaryOp::AddI, b.load(p, Elem::I32), b.constant(Elem::I32, 1)));
  return b.finish();
}

HostMemory memoryOf(std::vector<int32_t>& words) {
  return {reinterpret_cast<Address>(words.data()), 4 * words.size(), "words"};
}

std::string faultAt(World& world, Address address) {
  launchAll(world, increment(), {1, 1, 1}, {{address}});
  return renderAll(world);
}

TEST(HostMemory, IsUsedWhereItLies) {
  World world({.rankCount = 1, .check = true});
  std::vector<int32_t> words(8);
  HostMemory memory = memoryOf(words);
  Address place = world.mapHost(0, memory);
  EXPECT_NE(place, memory.begin);
  launchAll(world, increment(), {1, 1, 1}, {{place + 8}});
  launchAll(world, increment(), {1, 1, 1}, {{memory.begin + 8}});
  EXPECT_EQ(words, (std::vector<int32_t>{0, 0, 2, 0, 0, 0, 0, 0})) << renderAll(world);
  std::string text = faultAt(world, place + 32);
  EXPECT_NE(text.find("byte offset 32 of `words` on rank 0, which has 32 bytes"), std::string::npos) << text;
}

TEST(HostMemory, EndsWithItsLastMapping) {
  World world({.rankCount = 1});
  std::vector<int32_t> words(8), others(8);
  Address place = world.mapHost(0, memoryOf(words));
  EXPECT_EQ(world.mapHost(0, memoryOf(words)), place);
  EXPECT_NE(world.mapHost(0, memoryOf(others)), place);
  world.release(0, place);
  launchAll(world, increment(), {1, 1, 1}, {{place}});
  EXPECT_EQ(words[0], 1);
  world.release(0, place);
  std::string text = faultAt(world, place);
  EXPECT_NE(text.find("`words` on rank 0, which has been freed"), std::string::npos) << text;
  EXPECT_EQ(words[0], 1);
}

TEST(HostMemory, ItsAddressesMeanNothingOnceItHasEnded) {
  World world({.rankCount = 1});
  std::vector<int32_t> words(8);
  world.release(0, world.mapHost(0, memoryOf(words)));
  std::string text = faultAt(world, memoryOf(words).begin);
  EXPECT_NE(text.find(", which is in no buffer"), std::string::npos) << text;
}

TEST(HostMemory, EachRankHasAPlaceOfItsOwn) {
  World world({.rankCount = 2});
  std::vector<int32_t> words(8);
  Address one = world.mapHost(0, memoryOf(words)), other = world.mapHost(1, memoryOf(words));
  EXPECT_NE(one, other);
  Address host = memoryOf(words).begin;
  EXPECT_EQ(launchAll(world, increment(), {1, 1, 1}, {{host}, {host}}), World::Stop::Done) << renderAll(world);
  EXPECT_EQ(words[0], 2);
}

TEST(HostMemory, IsFoundByItsAddressAndKeptUntilTheHostHasWaited) {
  World world({.rankCount = 1});
  std::vector<int32_t> words(8);
  auto owner = std::make_shared<int>();
  int asked = 0;
  world.setHostFinder([&](Address address) -> std::optional<HostMemory> {
    ++asked;
    HostMemory memory = memoryOf(words);
    memory.owner = owner;
    return address - memory.begin < memory.bytes ? std::optional(memory) : std::nullopt;
  });
  Address host = memoryOf(words).begin;
  launchAll(world, increment(), {1, 1, 1}, {{host}});
  launchAll(world, increment(), {1, 1, 1}, {{host + 4}});
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(owner.use_count(), 2);
  world.hostWaited(0);
  EXPECT_EQ(owner.use_count(), 1);
  launchAll(world, increment(), {1, 1, 1}, {{host}});
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(words, (std::vector<int32_t>{2, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_NE(faultAt(world, host + 32).find(", which is in no buffer"), std::string::npos);
}

}  // namespace
}  // namespace tandem::interpreter::test
