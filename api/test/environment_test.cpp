// These tests find a process's rank from the variables of a made-up environment.
#include "api/environment.h"
#include <gtest/gtest.h>
#include <map>

namespace tandem {
namespace {

using Variables = std::map<std::string, std::string>;

RankPlace placeIn(const Variables& variables) {
  return rankFromEnvironment([&](const char* name) {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string refusal(const Variables& variables) {
  try {
    placeIn(variables);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

const Variables torchrun = {{"RANK", "2"},
                            {"WORLD_SIZE", "4"},
                            {"LOCAL_RANK", "2"},
                            {"LOCAL_WORLD_SIZE", "4"},
                            {"MASTER_PORT", "29500"},
                            {"MASTER_ADDR", "127.0.0.1"}};
const Variables mpirun = {{"OMPI_COMM_WORLD_RANK", "1"},
                          {"OMPI_COMM_WORLD_SIZE", "2"},
                          {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                          {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                          {"PMIX_NAMESPACE", "prterun-host-77@1"}};

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}
Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

TEST(RankFromEnvironment, AProcessByItselfIsAlone) {
  RankPlace place = placeIn({{"MASTER_PORT", "1"}, {"HOME", "/"}});
  EXPECT_EQ(place.rank, 0);
  EXPECT_EQ(place.size, 1);
  EXPECT_EQ(place.device, 0);
  EXPECT_EQ(place.rendezvous, "");
}

TEST(RankFromEnvironment, Torchrun) {
  RankPlace place = placeIn(with(torchrun, "LOCAL_RANK", "3"));
  EXPECT_EQ(place.rank, 2);
  EXPECT_EQ(place.size, 4);
  EXPECT_EQ(place.device, 3);
  EXPECT_EQ(place.rendezvous, "tandem-29500");
  EXPECT_EQ(placeIn(without(without(torchrun, "LOCAL_RANK"), "LOCAL_WORLD_SIZE")).device, 2);
}

TEST(RankFromEnvironment, Mpirun) {
  RankPlace place = placeIn(mpirun);
  EXPECT_EQ(place.rank, 1);
  EXPECT_EQ(place.size, 2);
  EXPECT_EQ(place.device, 0);
  EXPECT_EQ(place.rendezvous, "tandem-prterun-host-77@1");
  Variables older = with(without(mpirun, "PMIX_NAMESPACE"), "OMPI_MCA_ess_base_jobid", "99");
  EXPECT_EQ(placeIn(older).rendezvous, "tandem-99");
}

TEST(RankFromEnvironment, TorchrunUnderMpirunCounts) {
  Variables both = mpirun;
  both.insert(torchrun.begin(), torchrun.end());
  EXPECT_EQ(placeIn(both).rank, 2);
  EXPECT_EQ(placeIn(both).rendezvous, "tandem-29500");
}

TEST(RankFromEnvironment, AGroupOfOneNeedsNoMeetingPlace) {
  EXPECT_EQ(placeIn({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).rendezvous, "");
  EXPECT_EQ(refusal(without(torchrun, "MASTER_PORT")),
            "the ranks do not know where to meet: set `MASTER_PORT` to one number for all of them");
}

TEST(RankFromEnvironment, SeveralHostsAreRefused) {
  EXPECT_EQ(refusal(with(torchrun, "LOCAL_WORLD_SIZE", "2")),
            "2 of the 4 ranks are on this host (`LOCAL_WORLD_SIZE`): a group lives on one host");
}

TEST(RankFromEnvironment, WhatDoesNotFitIsNamed) {
  EXPECT_EQ(refusal(with(torchrun, "RANK", "two")), "`RANK` is `two`, not a number from 0");
  EXPECT_EQ(refusal(with(torchrun, "RANK", "-1")), "`RANK` is `-1`, not a number from 0");
  EXPECT_EQ(refusal(with(torchrun, "RANK", "99999999999")), "`RANK` is `99999999999`, not a number from 0");
  EXPECT_EQ(refusal(with(torchrun, "RANK", "4")), "`RANK` is 4, but there are 4 ranks");
  EXPECT_EQ(refusal(without(torchrun, "WORLD_SIZE")), "`RANK` is set, but `WORLD_SIZE` is not");
  EXPECT_EQ(refusal(with(without(torchrun, "RANK"), "WORLD_SIZE", "4")), "`WORLD_SIZE` is set, but `RANK` is not");
}

}  // namespace
}  // namespace tandem
