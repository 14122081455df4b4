// The C ABI as a program outside sees it: this test links the shared library only.
#include "tandem/c_api.h"
#include "tandem/ops_c_api.h"
#include "tandem/tensor.h"
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>

namespace tandem {
namespace {

constexpr char kHeader[] = "import tandem\nimport tandem.dist as dl\nimport tandem.language as tl\n\n@tandem.jit\n";

TEST(CApi, GarbageIsRefusedWithAReason) {
  td_session* session = nullptr;
  for (const char* text : {"", "nonsense", "[]", "{\"ranks\": \"four\"}", "{\"ranks\": -1}"}) {
    EXPECT_NE(td_session_create(text, &session), 0) << text;
    EXPECT_STRNE(td_last_error(), "") << text;
  }
  EXPECT_EQ(session, nullptr);
  td_program* program = nullptr;
  for (const char* text : {"", "nonsense", "{}", "[1, 2]", "{\"source\": 3}"})
    EXPECT_NE(td_compile(text, &program), 0) << text;
  char* out = nullptr;
  EXPECT_NE(td_emit("{}", "nowhere", &out), 0);
}

TEST(CApi, OptionsOfSessionsAreNamed) {
  auto words = [](const char* options) {
    td_session* session = nullptr;
    EXPECT_NE(td_session_create(options, &session), 0) << options;
    return std::string(td_last_error());
  };
  EXPECT_EQ(words("[]"), "the options are [], an object is needed");
  EXPECT_EQ(words(R"({"ranks": true})"), "`ranks` is true, an integer is needed");
  EXPECT_EQ(words(R"({"ranks": 2.5})"), "`ranks` is 2.5, an integer is needed");
  EXPECT_EQ(words(R"({"seed": -1})"), "`seed` is -1, an integer from 0 is needed");
  EXPECT_EQ(words(R"({"check": 1})"), "`check` is 1, true or false is needed");
  EXPECT_EQ(words(R"({"policy": 3})"), "`policy` is 3, a text is needed");
  EXPECT_EQ(words(R"({"slot_per_rank": 3})"), "a session of `sim` has no option `slot_per_rank`");
  EXPECT_EQ(words(R"({"wait_timeout_ms": 3})"), "a session of `sim` has no option `wait_timeout_ms`");
  EXPECT_EQ(words(R"({"target": "cuda", "check": true})"), "a session of `cuda` has no option `check`");
  EXPECT_EQ(words(R"({"target": "cuda", "devices": [0, "1"]})"), "`devices` is [0,\"1\"], an integer is needed");
  EXPECT_EQ(words(R"({"target": "cuda", "wait_timeout_ms": -3})"),
            "`wait_timeout_ms` is -3, an integer from 0 is needed");
}

TEST(CApi, ManyRowsAndSignalsEndAtTheFirstThatIsOutside) {
  auto reported = [](const std::function<int(td_session*, uint64_t)>& queue) {
    td_session* session = nullptr;
    EXPECT_EQ(td_session_create("{\"ranks\": 1, \"check\": true}", &session), 0);
    EXPECT_EQ(td_enter(session, 0), 0);
    uint64_t address = 0;
    EXPECT_EQ(td_allocate(session, 0, 64, 0, 1, "x", "", 0, &address), 0);
    EXPECT_EQ(queue(session, address), 0) << td_last_error();
    bool failed = td_synchronize(session, 0, -1) != 0;
    char* reports = nullptr;
    EXPECT_EQ(td_reports(session, &reports), 0);
    std::string text = reports;
    td_free(reports);
    td_session_destroy(session);
    return failed ? text : "";
  };
  constexpr uint64_t kMany = uint64_t(1) << 40;
  EXPECT_NE(reported([](td_session* s, uint64_t x) {
              return td_copy_rows(s, 0, 0, x, 8, x, 8, 8, kMany);
            }).find("offset 64 of `x`"),
            std::string::npos);
  EXPECT_EQ(reported([](td_session* s, uint64_t x) { return td_copy_rows(s, 0, 0, x, 0, x, 0, 0, kMany); }), "");
  EXPECT_NE(reported([](td_session* s, uint64_t x) {
              return td_signal_write(s, 0, 0, x, 1 << 30, 1, 8, 0);
            }).find("offset 64 of `x`"),
            std::string::npos);
  EXPECT_NE(reported([](td_session* s, uint64_t x) {
              return td_signal_wait(s, 0, 0, x, 1 << 30, 0, 0, 8);
            }).find("offset 64 of `x`"),
            std::string::npos);
  EXPECT_EQ(reported([](td_session* s, uint64_t x) { return td_host_access(s, 0, x + 8, kMany, TD_HOST_WRITE); }), "");
}

TEST(CApi, SymmetricMemoryIsNotReleasedByAStream) {
  td_session* session = nullptr;
  ASSERT_EQ(td_session_create("{}", &session), 0);
  ASSERT_EQ(td_enter(session, 0), 0);
  uint64_t address = 0;
  ASSERT_EQ(td_allocate(session, 0, 64, 1, 1, "x", "", 0, &address), 0);
  EXPECT_NE(td_release_async(session, 0, 0, address), 0);
  EXPECT_STREQ(td_last_error(), "symmetric memory is released by all ranks together, not in stream order");
  EXPECT_EQ(td_leave(session, 0), 0);
  td_session_destroy(session);
}

int foundWords[4] = {1, 2, 3, 4};
int dropped = 0;
int findWords(uint64_t address, td_host_memory* found) {
  auto begin = reinterpret_cast<uint64_t>(foundWords);
  if (address - begin >= sizeof foundWords) return 0;
  *found = {begin, sizeof foundWords, "found words", foundWords};
  return 1;
}

TEST(CApi, MemoryOfTheHostIsUsedWhereItLies) {
  EXPECT_EQ(td_set_host_finder(findWords, [](void* owner) { dropped += owner == foundWords; }), 0);
  td_session* session = nullptr;
  ASSERT_EQ(td_session_create("{}", &session), 0);
  ASSERT_EQ(td_enter(session, 0), 0);
  int words[4] = {};
  uint64_t address = 0;
  int32_t* host = nullptr;
  ASSERT_EQ(td_host_words(session, 0, 4, "told", &host, &address), 0);
  EXPECT_EQ(host[3], 0);
  EXPECT_NE(td_host_words(session, 0, 0, "none", &host, &address), 0);
  EXPECT_NE(td_map_host(session, 0, nullptr, 16, "words", "", 0, &address), 0);
  ASSERT_EQ(td_map_host(session, 0, words, sizeof words, "words", "", 0, &address), 0);
  EXPECT_EQ(td_copy(session, 0, 0, address + 4, reinterpret_cast<uint64_t>(foundWords), 8), 0);
  EXPECT_EQ(td_release_async(session, 0, 0, address), 0);
  EXPECT_EQ(td_synchronize(session, 0, -1), 0);
  EXPECT_EQ(std::vector(words, words + 4), (std::vector{0, 1, 2, 0}));
  EXPECT_EQ(dropped, 1);
  EXPECT_EQ(td_set_host_finder(nullptr, nullptr), 0);
  EXPECT_EQ(td_leave(session, 0), 0);
  td_session_destroy(session);
}

TEST(CApi, NullsAreRefused) {
  td_session* session = nullptr;
  EXPECT_NE(td_session_create(nullptr, &session), 0);
  EXPECT_NE(td_session_create("{}", nullptr), 0);
  td_program* program = nullptr;
  EXPECT_NE(td_compile(nullptr, &program), 0);
  EXPECT_NE(td_compile("{}", nullptr), 0);
  EXPECT_NE(td_enter(nullptr, 0), 0);
  EXPECT_NE(td_launch(nullptr, 0, 0, nullptr, 1, 1, 1, 4, 0, nullptr, 0, nullptr, 0), 0);
  EXPECT_STRNE(td_last_error(), "");
  td_session_destroy(nullptr);
  td_program_release(nullptr);
  td_ag_gemm_destroy(nullptr);
  td_free(nullptr);
}

TEST(CApi, NullsAreRefusedByOperators) {
  auto refused = [](int failed, const char* name) {
    EXPECT_NE(failed, 0);
    EXPECT_EQ(td_last_error(), "`" + std::string(name) + "` is null");
  };
  td_session* session = nullptr;
  ASSERT_EQ(td_session_create("{\"ranks\": 1}", &session), 0);
  td_ag_gemm* gather = nullptr;
  td_gemm_rs* scatter = nullptr;
  td_all_reduce* reduce = nullptr;
  int fp32 = int(DType::Float32);
  refused(td_ag_gemm_create(session, 0, 16, 16, 16, fp32, nullptr, &gather), "config");
  refused(td_ag_gemm_create(nullptr, 0, 16, 16, 16, fp32, "{}", &gather), "session");
  refused(td_ag_gemm_create(session, 0, 16, 16, 16, fp32, "{}", nullptr), "op");
  refused(td_gemm_rs_create(session, 0, 16, 16, 16, fp32, nullptr, &scatter), "config");
  refused(td_all_reduce_create(session, 0, 16, fp32, nullptr, &reduce), "config");
  refused(td_all_reduce_create(session, 0, 16, fp32, "{}", nullptr), "op");
  refused(td_ag_gemm_run(nullptr, 0, 0, 0, 0, 16, fp32), "op");
  refused(td_gemm_rs_close(nullptr), "op");
  refused(td_all_reduce_run(nullptr, 0, 0, 0, 16, 0), "op");
  refused(td_gemm_ar_run(nullptr, 0, 0, 0, 0, 16, fp32), "op");
  refused(td_all_gather_close(nullptr), "op");
  refused(td_op_choices(nullptr, nullptr), "json");
  refused(td_op_create(session, 0, nullptr, nullptr, 0, fp32, "{}", &gather), "name");
  refused(td_op_create(session, 0, "all_gather", nullptr, 2, fp32, "{}", &gather), "sizes");
  refused(td_op_tables(nullptr), "json");
  char* text = nullptr;
  refused(td_machine_named(nullptr, &text), "name");
  refused(td_machine_read(nullptr, &text), "profile");
  refused(td_machine_speeds(nullptr), "json");
  td_session_destroy(session);
}

TEST(CApi, RanksAndStreamsAreChecked) {
  td_session* session = nullptr;
  ASSERT_EQ(td_session_create("{\"ranks\": 1}", &session), 0);
  EXPECT_NE(td_enter(session, 1), 0);
  EXPECT_NE(td_enter(session, -1), 0);
  ASSERT_EQ(td_enter(session, 0), 0);
  uint64_t address = 0;
  EXPECT_NE(td_allocate(session, 5, 16, 0, 1, "x", "", 0, &address), 0);
  EXPECT_EQ(td_allocate(session, 0, 16, 0, 1, nullptr, nullptr, 0, &address), 0);
  EXPECT_NE(td_copy(session, 0, 3, address, address, 4), 0);
  EXPECT_NE(td_launch(session, 0, 0, nullptr, 1, 1, 1, 4, 0, nullptr, 0, "", 0), 0);
  EXPECT_NE(td_signal_write(session, 0, 0, address, 1, 1, 3, 0), 0);
  EXPECT_NE(td_signal_write(session, 0, 0, address, -1, 1, 8, 0), 0);
  EXPECT_NE(td_signal_wait(session, 0, 0, address, 1, 99, 1, 8), 0);
  int stream = 7;
  EXPECT_NE(td_adopt_stream(session, 0, 1234, &stream), 0);
  EXPECT_STREQ(td_last_error(), "a simulated rank has no CUDA streams");
  EXPECT_EQ(stream, 7);
  int team = 0, members[] = {0, 4};
  EXPECT_NE(td_create_team(session, 0, members, 2, &team), 0);
  EXPECT_NE(td_create_team(session, 0, members, 1 << 30, &team), 0);
  EXPECT_STREQ(td_last_error(), "a team of 1073741824 members among 1 ranks");
  EXPECT_NE(td_wait_event(session, 0, 0, 1), 0);
  EXPECT_EQ(td_leave(session, 0), 0);
  td_session_destroy(session);
}

TEST(CApi, WhoHasLeftIsTold) {
  td_session* session = nullptr;
  ASSERT_EQ(td_session_create("{\"ranks\": 1}", &session), 0);
  EXPECT_NE(td_barrier(session, 0, 0), 0);
  EXPECT_STREQ(td_last_error(), "rank 0 has not entered or has left");
  td_session_destroy(session);
  ASSERT_EQ(td_session_create("{\"ranks\": 1}", &session), 0);
  ASSERT_EQ(td_enter(session, 0), 0);
  ASSERT_EQ(td_leave(session, 0), 0);
  EXPECT_NE(td_barrier(session, 0, 0), 0);
  EXPECT_STREQ(td_last_error(), "rank 0 has not entered or has left");
  td_session_destroy(session);
}

TEST(CApi, RequestsSpeakOfTheirParameters) {
  char* request = nullptr;
  std::string path = testing::TempDir() + "/c_api_request.py";
  std::ofstream(path) << kHeader << "def f(p, N: tl.constexpr):\n    tl.store(p, N)\n";
  EXPECT_NE(td_request_for_file(path.c_str(), "", "", "", 4, &request), 0);
  EXPECT_STREQ(td_last_error(), "error: parameter `p` of `f` has no type; give it with `signature` 'p=...'\n");
  EXPECT_NE(td_request_for_file(path.c_str(), "", "*i32", "", 4, &request), 0);
  EXPECT_STREQ(td_last_error(),
               "error: constexpr parameter `N` of `f` has no value; give it with `constexprs` 'N=...'\n");
}

TEST(CApi, ClosedOperatorsSaySo) {
  td_session* session = nullptr;
  ASSERT_EQ(td_session_create("{\"ranks\": 1}", &session), 0);
  ASSERT_EQ(td_enter(session, 0), 0);
  td_ag_gemm* gather = nullptr;
  ASSERT_EQ(td_ag_gemm_create(session, 0, 16, 16, 16, int(DType::Float32), "{}", &gather), 0) << td_last_error();
  EXPECT_EQ(td_ag_gemm_close(gather), 0);
  EXPECT_EQ(td_ag_gemm_close(gather), 0);
  EXPECT_NE(td_ag_gemm_run(gather, 0, 0, 0, 0, 16, int(DType::Float32)), 0);
  EXPECT_STREQ(td_last_error(), "the operator is closed");
  td_ag_gemm_destroy(gather);
  EXPECT_EQ(td_leave(session, 0), 0);
  td_session_destroy(session);
}

TEST(CApi, SessionsOfGpusCheckTheirOptions) {
  td_session* session = nullptr;
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"target": "cuda", "ranks": 2, "rank": 2, "rendezvous": "x"})", "`rank` is 2, but there are 2 ranks"},
      {R"({"target": "cuda", "ranks": 2, "rank": 1})", "one rank of several needs a `rendezvous`"},
      {R"({"target": "cuda", "ranks": 3, "devices": [0, 1]})", "`devices` names 2 for the 3 ranks of this process"},
      {R"({"target": "cuda", "ranks": 2000})", "`ranks` must be 1 to 1024, not 2000"}};
  for (auto& [options, why] : wrong) {
    EXPECT_NE(td_session_create(options, &session), 0);
    EXPECT_STREQ(td_last_error(), why);
  }
}

// Requests for both targets come from one text; the simulator takes the first only.
TEST(CApi, CodeForAnotherTargetIsRefusedWithBothNames) {
  nlohmann::json request = {
      {"kernel", "nothing"},
      {"module", {{"file", "k.py"}, {"source", std::string(kHeader) + "def nothing(p):\n    tl.store(p, 1)\n"}}},
      {"arguments", {{{"name", "p"}, {"type", "*i32"}}}},
      {"options", {{"num_warps", 4}}}};
  td_program *simulated = nullptr, *gpu = nullptr;
  ASSERT_EQ(td_compile(request.dump().c_str(), &simulated), 0) << td_last_error();
  request["options"]["target"] = "sm_90a";
  ASSERT_EQ(td_compile(request.dump().c_str(), &gpu), 0) << td_last_error();
  char* text = nullptr;
  ASSERT_EQ(td_program_info(gpu, &text), 0);
  nlohmann::json info = nlohmann::json::parse(text);
  td_free(text);
  EXPECT_EQ(info["target"], "sm_90a");
  EXPECT_EQ(info["name"], "nothing");
  EXPECT_EQ(info["arguments"], nlohmann::json::parse(R"([{"name": "", "type": "pointer"}])"));
  td_session* session = nullptr;
  ASSERT_EQ(td_session_create("{}", &session), 0);
  ASSERT_EQ(td_enter(session, 0), 0);
  uint64_t address = 0;
  ASSERT_EQ(td_allocate(session, 0, 16, 0, 1, "x", "", 0, &address), 0);
  EXPECT_EQ(td_launch(session, 0, 0, simulated, 1, 1, 1, 4, 0, &address, 1, "", 0), 0);
  EXPECT_NE(td_launch(session, 0, 0, simulated, 1, 1, 1, 4, 64, &address, 1, "", 0), 0);
  EXPECT_NE(td_launch(session, 0, 0, gpu, 1, 1, 1, 4, 0, &address, 1, "", 0), 0);
  EXPECT_STREQ(td_last_error(), "kernel `nothing` is compiled for `sm_90a`, but rank 0 runs code for `sim`");
  EXPECT_EQ(td_leave(session, 0), 0);
  td_session_destroy(session);
  td_program_release(simulated);
  td_program_release(gpu);
}

TEST(CApi, UnknownTeamStopsTheRun) {
  td_session* session = nullptr;
  ASSERT_EQ(td_session_create("{\"ranks\": 1}", &session), 0);
  ASSERT_EQ(td_enter(session, 0), 0);
  EXPECT_NE(td_barrier(session, 0, 42), 0);
  td_abort(session, 0, nullptr);
  td_session_destroy(session);
}

}  // namespace
}  // namespace tandem
