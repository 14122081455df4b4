// Barriers, asynchronous copies, TMA, clusters.
#include "compiler/codegen/nvidia/test/asm.h"

namespace tandem::codegen::test {
namespace {

TEST(AsmBarrier, Numbered) {
  check("sm_80",
        [](TestKernel& k) {
          barrierSync(k.b, 1, 64);
          barrierArrive(k.b, 2, 128);
          barrierSync(k.b, k.i32(), k.b.getInt32(96));
        },
        {"bar.sync 1, 64;", "bar.arrive 2, 128;", ", 96;"});
}

TEST(AsmBarrier, MemoryBarriers) {
  std::string ptx = check(
      "sm_90a",
      [](TestKernel& k) {
        auto* bar = k.shared();
        auto* p = k.predicate();
        mbarrierInit(k.b, bar, k.b.getInt32(1), p);
        fenceBarrierInit(k.b);
        mbarrierArrive(k.b, bar);
        mbarrierArrive(k.b, bar, p);
        mbarrierArriveExpect(k.b, bar, k.b.getInt32(4096), p);
        mbarrierArriveCopies(k.b, bar);
        mbarrierExpect(k.b, bar, k.i32());
        mbarrierArriveRemote(k.b, mapShared(k.b, bar, k.i32()), p);
        mbarrierArriveRemote(k.b, mapShared(k.b, bar, k.i32()), p, false);
        mbarrierWait(k.b, bar, k.i32());
        mbarrierWait(k.b, bar, k.i32(), p);
        k.keep(mbarrierTest(k.b, bar, k.b.getInt32(0)));
        mbarrierInvalidate(k.b, bar);
      },
      {"mbarrier.init.shared::cta.b64", "mbarrier.arrive.shared::cta.b64 _, [",
       "mbarrier.arrive.expect_tx.shared::cta.b64 _, [", "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [",
       "mbarrier.expect_tx.relaxed.cta.shared::cta.b64", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [",
       "mbarrier.arrive.release.cta.shared::cluster.b64 _, [", "mbarrier.try_wait.parity.shared::cta.b64",
       "mbarrier.test_wait.parity.shared::cta.b64", "mbarrier.inval.shared::cta.b64"});
  EXPECT_EQ(countOf(ptx, "mbarrier.try_wait"), 2u);
}

TEST(AsmBarrier, AmperePolls) {
  check("sm_80",
        [](TestKernel& k) {
          mbarrierInit(k.b, k.shared(), k.b.getInt32(128));
          mbarrierPoll(k.b, k.shared(), k.b.getInt32(0));
        },
        {"mbarrier.test_wait.parity.shared::cta.b64"});
}

TEST(AsmAsyncCopy, SizesZeroFillAndGroups) {
  check("sm_80",
        [](TestKernel& k) {
          copyAsync(k.b, k.shared(), k.in(), 4);
          copyAsync(k.b, k.shared(), k.in(), 8, k.i32());
          copyAsync(k.b, k.shared(), k.in(), 16, k.predicate(), k.predicate());
          commitCopies(k.b);
          waitCopies(k.b, 1);
        },
        {"cp.async.ca.shared.global", "], 4;", "], 8, %r", "cp.async.cg.shared.global", "], 16, %p",
         "cp.async.commit_group;", "cp.async.wait_group 1;"});
}

TEST(AsmTma, LoadsOfEveryRank) {
  for (size_t rank = 1; rank <= 5; ++rank) {
    std::string dims =
        "cp.async.bulk.tensor." + std::to_string(rank) + "d.shared::cluster.global.mbarrier::complete_tx::bytes [";
    check("sm_90a",
          [&](TestKernel& k) {
            markTensorMap(k.function(), 5);
            Values coordinates(rank, k.i32());
            auto* bar = k.b.CreateGEP(k.b.getInt8Ty(), k.shared(), k.b.getInt32(1024));
            tensorLoad(k.b, {.map = k.generic(),
                             .coordinates = coordinates,
                             .shared = k.shared(),
                             .barrier = bar,
                             .predicate = k.predicate()});
          },
          {dims.c_str(), ".param .align 64 .b8 k_param_5[128]"});
  }
}

TEST(AsmTma, MulticastAndPolicy) {
  check("sm_90a",
        [](TestKernel& k) {
          Values at{k.i32(), k.b.getInt32(0)};
          auto* policy = cachePolicy(k.b, Evict::Last);
          tensorLoad(k.b, {.map = k.generic(),
                           .coordinates = at,
                           .shared = k.shared(),
                           .barrier = k.shared(),
                           .multicast = k.b.getInt16(3)});
          tensorLoad(
              k.b,
              {.map = k.generic(), .coordinates = at, .shared = k.shared(), .barrier = k.shared(), .l2Policy = policy});
          tensorLoad(k.b, {.map = k.generic(),
                           .coordinates = at,
                           .shared = k.shared(),
                           .barrier = k.shared(),
                           .multicast = k.b.getInt16(3),
                           .l2Policy = policy});
        },
        {"complete_tx::bytes.multicast::cluster [", "complete_tx::bytes.L2::cache_hint [",
         "complete_tx::bytes.multicast::cluster.L2::cache_hint ["});
}

TEST(AsmTma, Stores) {
  check(
      "sm_90a",
      [](TestKernel& k) {
        markTensorMap(k.function(), 5);
        prefetchTensorMap(k.b, k.generic(), k.predicate());
        Values at{k.i32(), k.b.getInt32(0)};
        fenceProxyAsync(k.b, ProxySpace::Shared);
        tensorStore(k.b, {.map = k.generic(), .coordinates = at, .shared = k.shared(), .predicate = k.predicate()});
        tensorStore(
            k.b,
            {.map = k.generic(), .coordinates = at, .shared = k.shared(), .l2Policy = cachePolicy(k.b, Evict::First)});
        tensorStore(k.b, {.map = k.generic(), .coordinates = at, .shared = k.shared()}, BulkReduction::Add);
        commitBulk(k.b);
        waitBulk(k.b, 1, true);
        waitBulk(k.b, 0, false);
      },
      {"prefetch.tensormap [", "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [", "bulk_group.L2::cache_hint",
       "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [", "cp.async.bulk.commit_group;",
       "cp.async.bulk.wait_group.read 1;", "cp.async.bulk.wait_group 0;"});
}

TEST(AsmTma, BytesWithoutAMap) {
  check("sm_90a",
        [](TestKernel& k) {
          auto* bar = k.b.CreateGEP(k.b.getInt8Ty(), k.shared(), k.b.getInt32(1024));
          bulkLoad(k.b, k.shared(), k.in(), k.i32(), bar, nullptr, k.predicate());
          bulkLoad(k.b, k.shared(), k.in(), k.i32(), bar, cachePolicy(k.b, Evict::First));
          bulkStore(k.b, k.out(), k.shared(), k.i32());
          bulkStore(k.b, k.generic(), k.shared(), k.i32(), cachePolicy(k.b, Evict::First), k.predicate());
          commitBulk(k.b);
          waitBulk(k.b, 0, false);
        },
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [",
         "cp.async.bulk.global.shared::cta.bulk_group ["});
}

TEST(AsmGrid, ClustersAndRegisters) {
  check("sm_90a",
        [](TestKernel& k) {
          markKernel(k.function(), {.threads = 256, .cluster = {2, 1, 1}});
          clusterArrive(k.b, true);
          clusterWait(k.b);
          clusterArrive(k.b);
          clusterWait(k.b);
          decreaseRegisters(k.b, 40);
          increaseRegisters(k.b, 232);
        },
        {"barrier.cluster.arrive.relaxed.aligned;", "barrier.cluster.arrive.release.aligned;",
         "barrier.cluster.wait.acquire.aligned;", "setmaxnreg.dec.sync.aligned.u32 40;",
         "setmaxnreg.inc.sync.aligned.u32 232;"});
}

}  // namespace
}  // namespace tandem::codegen::test
