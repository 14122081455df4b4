// ld, st, atom, red, fence, multimem.
#include "compiler/codegen/nvidia/test/asm.h"

namespace tandem::codegen::test {
namespace {

TEST(AsmLoad, EveryWidth) {
  for (unsigned bits : {8, 16, 32, 64})
    for (unsigned count : {1, 2, 4}) {
      if (bits * count > 128) continue;
      std::string vector = count > 1 ? ".v" + std::to_string(count) : "";
      std::string ld = "ld.global" + vector + ".b" + std::to_string(bits),
                  st = "st.global" + vector + ".b" + std::to_string(bits);
      check("sm_80",
            [&](TestKernel& k) {
              Values v = load(k.b, k.b.getIntNTy(bits), count, k.in(), nullptr, {});
              EXPECT_EQ(v.size(), count);
              EXPECT_TRUE(v[0]->getType()->isIntegerTy(bits));
              store(k.b, v, k.out(), k.predicate());
            },
            {ld.c_str(), st.c_str(), "@%p"});
    }
}

TEST(AsmLoad, FloatsHalvesAndVectorsKeepTheirType) {
  TestKernel k("sm_90a");
  auto* pair = llvm::FixedVectorType::get(k.b.getHalfTy(), 2);
  for (llvm::Type* type : {k.b.getFloatTy(), k.b.getDoubleTy(), k.b.getHalfTy(), k.b.getBFloatTy(), (llvm::Type*)pair,
                           (llvm::Type*)k.b.getPtrTy()}) {
    Values v = load(k.b, type, 1, k.in(), k.predicate(), {});
    EXPECT_EQ(v[0]->getType(), type);
    store(k.b, v, k.out(), nullptr);
  }
  std::string ptx = k.ptx();
  EXPECT_EQ(countOf(ptx, "ld.global"), 6u) << ptx;
  assemble(ptx, k.target());
}

TEST(AsmLoad, AMaskedLoadBeginsAsOther) {
  std::string ptx = check("sm_80",
                          [](TestKernel& k) {
                            k.keep(load(k.b, k.b.getFloatTy(), 2, k.in(), k.predicate(),
                                        {k.f32(), llvm::ConstantFP::get(k.b.getFloatTy(), 1.0)}));
                            k.keep(load(k.b, k.b.getInt32Ty(), 1, k.in(), k.predicate(), {}));
                          },
                          {"ld.global.v2.b32 {", ", 1065353216;"});
  EXPECT_EQ(countOf(ptx, "@%p"), 2u) << ptx;
}

// In a chase of pointers the address and the result must not share a register before the load has read it.
TEST(AsmLoad, AChaseOfPointersAssembles) {
  check("sm_80",
        [](TestKernel& k) {
          auto& b = k.b;
          auto* loop = llvm::BasicBlock::Create(b.getContext(), "loop", &k.function());
          auto* end = llvm::BasicBlock::Create(b.getContext(), "end", &k.function());
          auto* entry = b.GetInsertBlock();
          auto* mask = k.predicate();
          b.CreateBr(loop);
          b.SetInsertPoint(loop);
          auto* p = b.CreatePHI(b.getPtrTy(), 2);
          p->addIncoming(k.generic(), entry);
          auto* next = load(b, b.getPtrTy(), 1, p, mask, {}, {.space = Space::Generic})[0];
          p->addIncoming(next, loop);
          b.CreateCondBr(b.CreateIsNotNull(next), loop, end);
          b.SetInsertPoint(end);
        },
        {"ld.b64"});
}

TEST(AsmLoad, CacheAndEviction) {
  check(
      "sm_90a",
      [](TestKernel& k) {
        auto one = [&](AccessOptions o) { k.keep(load(k.b, k.b.getInt32Ty(), 1, k.in(), nullptr, {}, o)); };
        one({.cache = Cache::Ca});
        one({.cache = Cache::Cg});
        one({.cache = Cache::Cs});
        one({.cache = Cache::Cv, .evict = Evict::First});
        one({.evict = Evict::First});
        one({.evict = Evict::Last});
        one({.evict = Evict::NoAllocate});
        one({.l2Policy = cachePolicy(k.b, Evict::First)});
        one({.isVolatile = true});
        auto put = [&](AccessOptions o) { store(k.b, {k.i32()}, k.out(), nullptr, o); };
        put({.cache = Cache::Wb});
        put({.cache = Cache::Cg});
        put({.cache = Cache::Cs});
        put({.cache = Cache::Wt});
        put({.evict = Evict::Last});
        put({.l2Policy = cachePolicy(k.b, Evict::Last)});
      },
      {"ld.global.ca.b32", "ld.global.cg.b32", "ld.global.cs.b32", "ld.global.cv.b32", "ld.global.L1::evict_first.b32",
       "ld.global.L1::evict_last.b32", "ld.global.L1::no_allocate.b32", "createpolicy.fractional.L2::evict_first.b64",
       "ld.global.L2::cache_hint.b32", "ld.volatile.global.b32", "st.global.wb.b32", "st.global.cg.b32",
       "st.global.cs.b32", "st.global.wt.b32", "st.global.L1::evict_last.b32", "st.global.L2::cache_hint.b32"});
}

TEST(AsmLoad, OrderAndScope) {
  check(
      "sm_90a",
      [](TestKernel& k) {
        for (Scope scope : {Scope::Block, Scope::Cluster, Scope::Device, Scope::System}) {
          k.keep(load(k.b, k.b.getInt32Ty(), 1, k.in(), nullptr, {}, {.order = Order::Acquire, .scope = scope}));
          k.keep(load(k.b, k.b.getInt64Ty(), 1, k.in(), k.predicate(), {}, {.order = Order::Relaxed, .scope = scope}));
          store(k.b, {k.i32()}, k.out(), k.predicate(), {.order = Order::Release, .scope = scope});
          store(k.b, {k.i64()}, k.out(), nullptr, {.order = Order::Relaxed, .scope = scope});
        }
        k.keep(load(k.b, k.b.getInt32Ty(), 4, k.in(), nullptr, {}, {.order = Order::Relaxed, .scope = Scope::System}));
        store(k.b, {k.i32(), k.i32(), k.i32(), k.i32()}, k.out(), nullptr,
              {.order = Order::Relaxed, .scope = Scope::System});
      },
      {"ld.acquire.cta.global.b32", "ld.acquire.cluster.global.b32", "ld.acquire.gpu.global.b32",
       "ld.acquire.sys.global.b32", "ld.relaxed.sys.global.b64", "st.release.sys.global.b32",
       "st.relaxed.gpu.global.b64", "ld.relaxed.sys.global.v4.b32", "st.relaxed.sys.global.v4.b32"});
}

TEST(AsmLoad, Spaces) {
  check("sm_90a",
        [](TestKernel& k) {
          k.keep(load(k.b, k.b.getInt32Ty(), 4, k.shared(), nullptr, {}, {.space = Space::Shared}));
          auto* remote = mapShared(k.b, k.shared(), k.b.getInt32(1));
          k.keep(load(k.b, k.b.getInt32Ty(), 1, remote, nullptr, {}, {.space = Space::SharedCluster}));
          k.keep(load(k.b, k.b.getInt32Ty(), 1, k.generic(), nullptr, {}, {.space = Space::Generic}));
          store(k.b, {k.i32()}, remote, nullptr, {.space = Space::SharedCluster});
        },
        {"ld.shared.v4.b32", "mapa.shared::cluster.u32", "ld.shared::cluster.b32", "ld.b32", "st.shared::cluster.b32"});
}

// A load without order may be merged and dropped; one with order stays.
TEST(AsmLoad, OnlyOrderedLoadsStayUnused) {
  TestKernel k("sm_80");
  load(k.b, k.b.getInt32Ty(), 1, k.in(), nullptr, {});
  load(k.b, k.b.getInt32Ty(), 1, k.in(), nullptr, {}, {.order = Order::Acquire});
  k.keep(load(k.b, k.b.getFloatTy(), 1, k.in(), nullptr, {}));
  std::string ptx = k.ptx();
  EXPECT_EQ(countOf(ptx, "ld.global.b32"), 1u) << ptx;
  EXPECT_EQ(countOf(ptx, "ld.acquire"), 1u) << ptx;
}

// A weak load may not move over what orders memory.
TEST(AsmLoad, LoadsStayBehindABarrier) {
  TestKernel k("sm_80");
  Values before = load(k.b, k.b.getInt32Ty(), 1, k.in(), nullptr, {});
  barrierSync(k.b, 0, 128);
  Values after = load(k.b, k.b.getInt32Ty(), 1, k.in(), nullptr, {});
  k.keep(k.b.CreateAdd(before[0], after[0]));
  std::string ptx = k.ptx();
  size_t barrier = ptx.find("bar.sync");
  EXPECT_LT(ptx.find("ld.global.b32"), barrier) << ptx;
  EXPECT_GT(ptx.rfind("ld.global.b32"), barrier) << ptx;
}

// Instructions that use the first values come behind the other loads; a store keeps its place.
TEST(AsmLoad, LoadsBeginTogether) {
  TestKernel k("sm_80");
  auto& b = k.b;
  auto loaded = [&](int at) {
    return load(b, b.getInt32Ty(), 1, b.CreateGEP(b.getInt32Ty(), k.in(), b.getInt32(at)), nullptr, {})[0];
  };
  llvm::Value* product = b.CreateMul(loaded(0), loaded(64));
  llvm::Value* sum = b.CreateAdd(product, loaded(128));
  store(b, {sum}, k.out(), nullptr, {});
  store(b, {b.CreateMul(sum, loaded(192))}, b.CreateGEP(b.getInt32Ty(), k.out(), b.getInt32(1)), nullptr, {});
  std::string ptx = k.ptx();
  size_t third = ptx.find("ld.global", ptx.find("ld.global", ptx.find("ld.global") + 1) + 1);
  EXPECT_LT(third, std::min(ptx.find("mul.lo"), ptx.find("mad.lo"))) << ptx;
  EXPECT_GT(ptx.rfind("ld.global"), ptx.find("st.global")) << ptx;
  assemble(ptx, k.target());
}

TEST(AsmAtomic, OperationsAndTypes) {
  check("sm_90a",
        [](TestKernel& k) {
          auto& b = k.b;
          auto* pair = llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(2),
                                                      llvm::ConstantFP::get(b.getHalfTy(), 1.0));
          auto* bpair = llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(2),
                                                       llvm::ConstantFP::get(b.getBFloatTy(), 1.0));
          struct Row {
            AtomicOp op;
            AtomicType type;
            llvm::Value* value;
          } rows[] = {{AtomicOp::Add, AtomicType::S32, k.i32()},
                      {AtomicOp::Add, AtomicType::S64, k.i64()},
                      {AtomicOp::Add, AtomicType::F32, k.f32()},
                      {AtomicOp::Add, AtomicType::F16, b.CreateFPTrunc(k.f32(), b.getHalfTy())},
                      {AtomicOp::Add, AtomicType::F16x2, pair},
                      {AtomicOp::Add, AtomicType::BF16x2, bpair},
                      {AtomicOp::Add, AtomicType::BF16, b.CreateFPTrunc(k.f32(), b.getBFloatTy())},
                      {AtomicOp::Add, AtomicType::F64, b.CreateFPExt(k.f32(), b.getDoubleTy())},
                      {AtomicOp::Min, AtomicType::S32, k.i32()},
                      {AtomicOp::Max, AtomicType::U64, k.i64()},
                      {AtomicOp::And, AtomicType::B32, k.i32()},
                      {AtomicOp::Or, AtomicType::B64, k.i64()},
                      {AtomicOp::Xor, AtomicType::B32, k.i32()},
                      {AtomicOp::Exchange, AtomicType::B64, k.i64()}};
          for (const Row& row : rows) {
            auto* old = atomic(b, row.op, row.type, k.out(), row.value);
            EXPECT_EQ(old->getType(), row.value->getType());
            k.keep(old);
            if (row.op == AtomicOp::Exchange) continue;
            reduceInto(b, row.op, row.type, k.out(), row.value, {.order = Order::Release, .scope = Scope::System});
          }
        },
        {"atom.acq_rel.gpu.global.add.s32", "atom.acq_rel.gpu.global.add.u64", "atom.acq_rel.gpu.global.add.f32",
         "atom.acq_rel.gpu.global.add.noftz.f16 ", "atom.acq_rel.gpu.global.add.noftz.f16x2", "add.noftz.bf16x2",
         "add.noftz.bf16 ", "global.add.f64", "global.min.s32", "global.max.u64", "global.and.b32", "global.or.b64",
         "global.xor.b32", "global.exch.b64", "red.release.sys.global.add.s32",
         "red.release.sys.global.add.noftz.f16x2", "red.release.sys.global.max.u64"});
}

TEST(AsmAtomic, OrdersScopesAndSpaces) {
  check("sm_90a",
        [](TestKernel& k) {
          for (Order order : {Order::Relaxed, Order::Acquire, Order::Release, Order::AcquireRelease})
            for (Scope scope : {Scope::Block, Scope::Cluster, Scope::Device, Scope::System})
              k.keep(atomic(k.b, AtomicOp::Add, AtomicType::U32, k.out(), k.i32(),
                            {.order = order, .scope = scope, .predicate = k.predicate()}));
          k.keep(atomic(k.b, AtomicOp::Add, AtomicType::U32, k.shared(), k.i32(),
                        {.scope = Scope::Block, .space = Space::Shared}));
          k.keep(atomic(k.b, AtomicOp::Add, AtomicType::U32, k.generic(), k.i32(), {.space = Space::Generic}));
        },
        {"atom.relaxed.cta.global.add.u32", "atom.acquire.cluster.global.add.u32", "atom.release.sys.global.add.u32",
         "atom.acq_rel.sys.global.add.u32", "atom.acq_rel.cta.shared.add.u32", "atom.acq_rel.gpu.add.u32"});
}

TEST(AsmAtomic, Neighbours) {
  check("sm_90a",
        [](TestKernel& k) {
          auto& b = k.b;
          AtomicOptions relaxed{.order = Order::Relaxed, .predicate = k.predicate()};
          for (auto* old : atomics(b, AtomicOp::Add, AtomicType::F32, k.out(), {k.f32(), k.f32(), k.f32(), k.f32()}))
            k.keep(old);
          for (auto* old : atomics(b, AtomicOp::Add, AtomicType::BF16x2, k.out(), {k.i32(), k.i32()}, relaxed))
            k.keep(old);
          reduceInto(b, AtomicOp::Add, AtomicType::F16x2, k.out(), {k.i32(), k.i32(), k.i32(), k.i32()}, relaxed);
        },
        {"atom.acq_rel.gpu.global.add.v4.f32", "atom.relaxed.gpu.global.add.noftz.v2.bf16x2",
         "red.relaxed.gpu.global.add.noftz.v4.f16x2"});
}

TEST(AsmAtomic, CompareAndSwap) {
  check("sm_80",
        [](TestKernel& k) {
          auto& b = k.b;
          k.keep(compareAndSwap(b, k.out(), k.i32(), b.getInt32(7),
                                {.order = Order::AcquireRelease, .scope = Scope::System}));
          k.keep(compareAndSwap(b, k.out(), k.i64(), b.getInt64(7),
                                {.order = Order::Acquire, .predicate = k.predicate()}));
          k.keep(compareAndSwap(b, k.out(), b.CreateTrunc(k.i32(), b.getInt16Ty()), b.getInt16(7),
                                {.order = Order::Relaxed}));
        },
        {"atom.acq_rel.sys.global.cas.b32", "atom.acquire.gpu.global.cas.b64", "atom.relaxed.gpu.global.cas.b16"});
}

TEST(AsmAtomic, AmpereHasTheRest) {
  check("sm_80",
        [](TestKernel& k) {
          k.keep(atomic(k.b, AtomicOp::Add, AtomicType::F32, k.out(), k.f32(),
                        {.order = Order::Relaxed, .scope = Scope::System}));
          reduceInto(k.b, AtomicOp::Max, AtomicType::S32, k.out(), k.i32(),
                     {.order = Order::Relaxed, .predicate = k.predicate()});
        },
        {"atom.relaxed.sys.global.add.f32", "red.relaxed.gpu.global.max.s32"});
}

TEST(AsmFence, ScopesAndProxies) {
  check("sm_90a",
        [](TestKernel& k) {
          for (Scope scope : {Scope::Block, Scope::Cluster, Scope::Device, Scope::System})
            for (bool sequential : {false, true}) fence(k.b, scope, sequential);
          for (ProxySpace space : {ProxySpace::All, ProxySpace::Global, ProxySpace::Shared})
            fenceProxyAsync(k.b, space);
          fenceBarrierInit(k.b);
        },
        {"fence.acq_rel.cta;", "fence.acq_rel.cluster;", "fence.acq_rel.gpu;", "fence.acq_rel.sys;", "fence.sc.cta;",
         "fence.sc.gpu;", "fence.sc.sys;", "fence.proxy.async;", "fence.proxy.async.global;",
         "fence.proxy.async.shared::cta;", "fence.mbarrier_init.release.cluster;"});
}

TEST(AsmMultimem, LoadAddAndStore) {
  check("sm_90a",
        [](TestKernel& k) {
          Values sums = multimemLoadAdd(k.b, MultimemType::F32, 4, k.in());
          multimemStore(k.b, MultimemType::F32, sums, k.out(), k.predicate());
          Values pairs = multimemLoadAdd(k.b, MultimemType::BF16x2, 4, k.in());
          multimemStore(k.b, MultimemType::BF16x2, pairs, k.out());
          k.keep(multimemLoadAdd(k.b, MultimemType::U32, 1, k.in()));
        },
        {"multimem.ld_reduce.relaxed.sys.global.add.v4.f32", "multimem.st.relaxed.sys.global.v4.f32",
         "multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.bf16x2", "multimem.st.relaxed.sys.global.v4.bf16x2"});
}

}  // namespace
}  // namespace tandem::codegen::test
