// These tests cover the compile cache: its place, its entries, damaged files, many writers at once.
#include "compiler/driver/image_cache.h"
#include "compiler/driver/build_id.h"
#include "compiler/driver/compile.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <thread>

namespace tandem::compiler {
namespace {
namespace fs = std::filesystem;

std::string requestWithBlock(const std::string& size) {
  std::string text =
      "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(x, N: tl.constexpr):\n"
      "    tl.store(x + tl.arange(0, N), 1)\n";
  auto request = nlohmann::json::parse(requestForText(text, "k.py", "k", "*i32", "N=" + size, 4).text);
  request["options"]["target"] = "sm_80";
  return request.dump();
}

class ImageCache : public testing::Test {
 protected:
  std::string folder_ = testing::TempDir() + "tandem-cache-" + std::to_string(getpid());
  ImageCache() { setenv("TANDEM_CACHE_DIR", folder_.c_str(), 1); }
  ~ImageCache() override {
    fs::remove_all(folder_);
    unsetenv("TANDEM_CACHE_DIR");
  }
  fs::path fileOf(const std::string& key) const { return fs::path(folder_) / "images" / key.substr(0, 2) / key; }
  static abi::KernelImage image() {
    abi::KernelImage i;
    i.name = "k";
    i.target = "sm_90a";
    i.ptx = std::string(10000, 'p');
    return i;
  }
};

TEST_F(ImageCache, Folder) {
  EXPECT_EQ(cacheFolder(), folder_);
  setenv("TANDEM_CACHE", "0", 1);
  EXPECT_EQ(cacheFolder(), "");
  unsetenv("TANDEM_CACHE");
  unsetenv("TANDEM_CACHE_DIR");
  setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(cacheFolder(), "/x/tandem");
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(cacheFolder(), std::string(getenv("HOME")) + "/.cache/tandem");
}

TEST_F(ImageCache, KeysDependOnTheRequest) {
  EXPECT_EQ(imageKey("a").size(), 64u);
  EXPECT_EQ(imageKey("a"), imageKey("a"));
  EXPECT_NE(imageKey("a"), imageKey("b"));
  EXPECT_FALSE(buildId().empty());
  std::string before = imageKey("a");
  setenv("TANDEM_PTXAS", "/nowhere/ptxas", 1);
  EXPECT_NE(imageKey("a"), before);
  unsetenv("TANDEM_PTXAS");
}

TEST_F(ImageCache, FindsWhatWasStored) {
  std::string key = imageKey("request");
  EXPECT_EQ(findImage(folder_, key), nullptr);
  storeImage(folder_, key, image());
  ASSERT_NE(findImage(folder_, key), nullptr);
  EXPECT_EQ(findImage(folder_, key)->ptx, image().ptx);
  EXPECT_EQ(compileCached("request").image->name, "k") << "what is on disk is not compiled";
}

TEST_F(ImageCache, ADamagedFileIsAMissAndIsReplaced) {
  std::string key = imageKey("request");
  storeImage(folder_, key, image());
  fs::path file = fileOf(key);
  ASSERT_TRUE(fs::exists(file));
  uint64_t whole = fs::file_size(file);
  for (uint64_t size : {uint64_t(0), uint64_t(63), uint64_t(64), uint64_t(5000), whole - 1}) {
    fs::resize_file(file, size);
    EXPECT_EQ(findImage(folder_, key), nullptr) << size;
    EXPECT_EQ(storeImage(folder_, key, image()), "");
    EXPECT_NE(findImage(folder_, key), nullptr);
  }
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(5000).put('q');
  EXPECT_EQ(findImage(folder_, key), nullptr) << "a changed byte of the code";
}

TEST_F(ImageCache, AnEntryIsItsKeysAlone) {
  std::string one = imageKey("one"), other = imageKey("other");
  storeImage(folder_, one, image());
  storeImage(folder_, other, image());
  fs::copy_file(fileOf(one), fileOf(other), fs::copy_options::overwrite_existing);
  EXPECT_NE(findImage(folder_, one), nullptr);
  EXPECT_EQ(findImage(folder_, other), nullptr);
}

TEST_F(ImageCache, WritersDoNotDisturbReaders) {
  std::string key = imageKey("request");
  storeImage(folder_, key, image());
  std::vector<std::thread> threads;
  std::atomic<int> misses{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        storeImage(folder_, key, image());
        misses += findImage(folder_, key) == nullptr;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(misses, 0);
  int files = 0;
  for (const auto& f : fs::recursive_directory_iterator(folder_)) files += f.is_regular_file();
  EXPECT_EQ(files, 1) << "temporary files are left";
}

TEST_F(ImageCache, AFolderThatCannotBeWrittenSaysWhy) {
  std::string key = imageKey("request");
  EXPECT_NE(storeImage("/proc/nowhere", key, image()), "");
  EXPECT_EQ(findImage("/proc/nowhere", key), nullptr);
  std::ofstream(folder_) << "a file";
  EXPECT_EQ(storeImage(folder_, key, image()), "Not a directory");
  fs::remove(folder_);
  fs::create_directories(fileOf(key));
  EXPECT_EQ(findImage(folder_, key), nullptr);
  EXPECT_EQ(storeImage(folder_, key, image()), "Is a directory");
}

TEST_F(ImageCache, AnUnusableFolderIsToldOnce) {
  std::ofstream(folder_) << "a file";
  testing::internal::CaptureStderr();
  for (const char* size : {"16", "32"}) EXPECT_NE(compileCached(requestWithBlock(size)).image, nullptr);
  std::string told = testing::internal::GetCapturedStderr();
  EXPECT_EQ(told, "tandem: compiled kernels are not kept in `" + folder_ +
                      "`: Not a directory; TANDEM_CACHE_DIR names another folder, TANDEM_CACHE=0 keeps none\n");
}

TEST_F(ImageCache, FailuresAreNotKept) {
  CompiledImage failed = compileCached(R"({"options": {"target": "sm_1"}})");
  EXPECT_EQ(failed.image, nullptr);
  EXPECT_NE(failed.error, "");
  EXPECT_FALSE(fs::exists(folder_));
}

}  // namespace
}  // namespace tandem::compiler
