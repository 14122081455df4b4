// Rows of `dl`, `shmem` and `extra`: which ops they emit and which mistakes they name.
#include "compiler/dialect/dist/attributes.h"
#include "compiler/dialect/dist/compare.h"
#include "compiler/frontend/builtin/test/emit_fixture.h"

namespace tandem::frontend {

static const DType f16{Scalar::Fp16}, f32{Scalar::Fp32}, i32{Scalar::Int32};

TEST_F(EmitTest, Ranks) {
  call("dl.rank");
  call("dl.num_ranks", {Int(0)});
  call("dl.symm_at", {pointer(Scalar::Fp32), Int(1)});
  EXPECT_EQ(ops(), (Names{"dist.rank", "dist.num_ranks", "dist.symm_at"}));
  EXPECT_EQ(failure("dl.symm_at", {Int(0), Int(1)}), "type");
}

TEST_F(EmitTest, RanksOfATeam) {
  Value team = argument(i32, {});
  call("dl.rank", {team});
  EXPECT_TRUE(mlir::cast<dist::RankOp>(last()).getTeam());
  call("dl.num_ranks", {team});
  EXPECT_TRUE(mlir::cast<dist::NumRanksOp>(last()).getTeam());
  call("dl.symm_at", {pointer(Scalar::Fp32), argument(i32, {}), team});
  EXPECT_TRUE(mlir::cast<dist::SymmAtOp>(last()).getPeer().getDefiningOp<dist::TranslateRankOp>());
  EXPECT_EQ(failure("dl.rank", {std::string("x")}), "type");
}

TEST_F(EmitTest, WaitAndConsume) {
  Value token = call("dl.wait", {pointer(Scalar::Int32), Int(4), std::string("gpu"), std::string("acquire")},
                     {{"compare", std::string("ge")}});
  EXPECT_EQ(mlir::cast<dist::WaitOp>(last()).getCompare(), dist::Compare::Ge);
  EXPECT_FALSE(dist::stays(last()));
  Value both = call("dl.consume_token", {makeTuple({pointer(Scalar::Fp16), argument(f32, {8})}), token});
  EXPECT_EQ(both.elements().size(), 2u);
  EXPECT_EQ(ops(), (Names{"dist.wait", "dist.consume_token", "dist.consume_token"}));
  call("dl.wait", {pointer(Scalar::Int32), Int(1), std::string("gpu"), std::string("acquire")}, {{"stays", true}});
  EXPECT_TRUE(dist::stays(last()));
  EXPECT_EQ(failure("dl.wait", {pointer(Scalar::Fp32), Int(1), std::string("gpu"), std::string("acquire")}), "type");
  EXPECT_EQ(failure("dl.wait", {pointer(Scalar::Int32), Int(1), std::string("far"), std::string("acquire")}),
            "argument-value");
  EXPECT_EQ(failure("dl.wait", {pointer(Scalar::Int32), Int(1), std::string("gpu"), std::string("release")}),
            "argument-value");
  EXPECT_EQ(failure("dl.consume_token", {std::string("x"), token}), "type");
  for (const Value& wrong :
       {Value(Int(0)), argument(f32), argument(DType{Scalar::Int64}), argument(i32, {8}), pointer(Scalar::Int32)})
    EXPECT_EQ(failure("dl.consume_token", {pointer(Scalar::Fp16), wrong}), "type");
  EXPECT_EQ(message, "`token` must be what `dl.wait` returns, an `int32` scalar, but is `pointer<int32>` tensor");
}

TEST_F(EmitTest, ConsumesPointersInsideDescriptorsAndBlocks) {
  Value token = argument(i32), p = pointer(Scalar::Fp16), pair = makeTuple({Int(64), Int(64)}),
        block = makeTuple({Int(16), Int(16)});
  Value d = call("tl.make_tensor_descriptor", {p, pair, makeTuple({Int(64), Int(1)}), block});
  Value after = call("dl.consume_token", {d, token});
  EXPECT_NE(after.as<std::shared_ptr<Descriptor>>()->base.value, d.as<std::shared_ptr<Descriptor>>()->base.value);
  Value b = call("tl.make_block_ptr", {p, pair, makeTuple({Int(64), Int(1)}), makeTuple({Int(0), Int(0)}), block,
                                       makeTuple({Int(1), Int(0)})});
  Value later = call("dl.consume_token", {b, token});
  EXPECT_NE(later.as<std::shared_ptr<BlockPointer>>()->base.value, p.as<Tensor>().value);
  ops();
}

TEST_F(EmitTest, Notify) {
  call("dl.notify", {pointer(Scalar::UInt64), Int(1)},
       {{"sig_op", std::string("add")}, {"comm_scope", std::string("gpu")}});
  auto op = mlir::cast<dist::NotifyOp>(last());
  EXPECT_EQ(op.getSignal(), dist::SignalKind::Add);
  EXPECT_EQ(op.getScope(), dist::CommScope::Gpu);
  for (auto [word, scope] :
       {std::pair("intra_node", dist::CommScope::IntraNode), {"inter_node", dist::CommScope::InterNode}}) {
    call("dl.notify", {pointer(Scalar::UInt64), Int(1)}, {{"comm_scope", std::string(word)}});
    EXPECT_EQ(mlir::cast<dist::NotifyOp>(last()).getScope(), scope);
  }
  EXPECT_EQ(failure("dl.notify", {pointer(Scalar::UInt64), Int(1)}, {{"comm_scope", std::string("sys")}}),
            "argument-value");
  EXPECT_EQ(failure("dl.notify", {pointer(Scalar::Int32), Int(1)}), "type");
  EXPECT_EQ(failure("dl.notify", {pointer(Scalar::UInt64), Int(1)}, {{"sig_op", std::string("or")}}), "argument-value");
}

TEST_F(EmitTest, PutAndGetInEveryScope) {
  Value dest = pointer(Scalar::Fp16), source = pointer(Scalar::Fp16), bytes = argument(i32);
  static const std::pair<const char*, dist::Group> scopes[] = {{"", dist::Group::Thread},
                                                               {"_warp", dist::Group::Warp},
                                                               {"_block", dist::Group::Block},
                                                               {"_wave", dist::Group::Warp},
                                                               {"_wg", dist::Group::Block}};
  for (const auto& [suffix, group] : scopes) {
    call(std::string("shmem.putmem_nbi") + suffix, {dest, source, bytes, Int(1)});
    auto put = mlir::cast<dist::PutOp>(last());
    EXPECT_EQ(put.getGroup(), group);
    EXPECT_TRUE(put.getNbi());
    call(std::string("shmem.getmem") + suffix, {dest, source, bytes, Int(1)});
    EXPECT_FALSE(mlir::cast<dist::GetOp>(last()).getNbi());
  }
  ops();
}

TEST_F(EmitTest, PutSignal) {
  Value p = pointer(Scalar::Fp16), signal = pointer(Scalar::UInt64);
  call("shmem.putmem_signal_nbi_block",
       {p, p, Int(128), signal, Int(1), *findConstant("shmem.ROCSHMEM_SIGNAL_ADD"), Int(0)});
  EXPECT_EQ(mlir::cast<dist::PutSignalOp>(last()).getSignal(), dist::SignalKind::Add);
  Value unknown = argument(i32);
  EXPECT_EQ(failure("shmem.putmem_signal", {p, p, Int(128), signal, Int(1), unknown, Int(0)}), "constexpr-needed");
  EXPECT_EQ(failure("shmem.putmem_signal", {p, p, Int(128), signal, Int(1), Int(3), Int(0)}), "argument-value");
  EXPECT_EQ(failure("shmem.putmem_signal", {p, p, Int(128), p, Int(1), Int(9), Int(0)}), "type");
  EXPECT_EQ(failure("shmem.putmem", {p, p, Value(1.5), Int(0)}), "type");
}

TEST_F(EmitTest, SignalsAndOrder) {
  Value signal = pointer(Scalar::Int64);
  call("shmem.signal_op", {signal, Int(1), *findConstant("shmem.NVSHMEM_SIGNAL_SET"), Int(1)});
  Value seen = call("shmem.signal_wait_until", {signal, *findConstant("shmem.NVSHMEM_CMP_GE"), Int(7)});
  EXPECT_EQ(seen.as<Tensor>().type.dtype, DType{Scalar::Int64});
  call("shmem.uint32_wait_until_equals", {pointer(Scalar::UInt32), Int(1)});
  call("shmem.fence");
  call("shmem.quiet");
  call("shmem.quiet_pe", {Int(1)});
  call("shmem.fence_pe", {Int(1)});
  EXPECT_TRUE(mlir::cast<dist::FenceOp>(last()).getPeer());
  EXPECT_EQ(ops(), (Names{"dist.signal", "dist.signal_wait_until", "arith.extui", "dist.signal_wait_until",
                          "dist.fence", "dist.quiet", "dist.quiet", "dist.fence"}));
  EXPECT_EQ(failure("shmem.signal_wait_until", {signal, Int(9), Int(7)}), "argument-value");
}

TEST_F(EmitTest, Collectives) {
  Value p = pointer(Scalar::UInt16);
  call("shmem.barrier_all_block");
  call("shmem.team_sync_warp", {Int(2)});
  EXPECT_TRUE(mlir::cast<dist::BarrierOp>(last()).getSyncOnly());
  call("shmem.fcollect_block", {Int(0), p, p, Int(8)});
  auto gathers = mlir::cast<dist::FcollectOp>(last());
  EXPECT_TRUE(gathers.getElement() == "uint16" && !gathers.getBarrier());
  call("shmem.broadcastmem_block", {Int(0), p, p, Int(8), Int(0), true});
  auto sends = mlir::cast<dist::BroadcastOp>(last());
  EXPECT_TRUE(!sends.getElement() && sends.getBarrier());
  call("shmem.remote_mc_ptr", {Int(2), p});
  call("shmem.team_translate_pe", {Int(2), Int(0), Int(0)});
  EXPECT_TRUE(emitted("dist.fcollect"));
  EXPECT_TRUE(emitted("dist.broadcast"));
  EXPECT_TRUE(emitted("dist.translate_rank"));
}

TEST_F(EmitTest, TypedAndAtomic) {
  call("shmem.int_p", {pointer(Scalar::Int32), Int(3), Int(1)});
  EXPECT_TRUE(emitted("dist.put_value"));
  EXPECT_EQ(failure("shmem.float_p", {pointer(Scalar::Int32), Int(3), Int(1)}), "type");
  Value old = call("shmem.atomic_fetch_add_uint64", {pointer(Scalar::UInt64), Int(1), Int(1)});
  EXPECT_EQ(old.as<Tensor>().type.dtype, DType{Scalar::UInt64});
  call("shmem.atomic_uint64_fetch",
       {pointer(Scalar::UInt64), Int(1), Int(0), *findConstant("shmem.MORI_AMO_COMPARE_SWAP"), Int(1)});
  EXPECT_TRUE(emitted("simt.atomic_cas"));
  call("shmem.atomic_uint64_fetch",
       {pointer(Scalar::UInt64), Int(0), Int(0), *findConstant("shmem.MORI_AMO_FETCH"), Int(1)});
  EXPECT_EQ(mlir::cast<simt::LdOp>(last()).getScope(), tile::Scope::Sys);
  EXPECT_EQ(failure("shmem.atomic_uint64_nonfetch", {pointer(Scalar::UInt64), Int(1), Int(19), Int(1)}),
            "argument-value");
}

TEST_F(EmitTest, Threads) {
  call("extra.tid", {Int(0)});
  call("extra.laneid");
  call("extra.__syncthreads");
  call("extra.membar", {std::string("gl")});
  call("extra.fence", {std::string("acq_rel"), std::string("sys")});
  call("extra.__shfl_up_sync_i32", {Int(0xFFFFFFFF), argument(i32), Int(1)});
  EXPECT_EQ(call("extra.__ballot_sync", {Int(0xFFFFFFFF), argument(i32)}).as<Tensor>().type.dtype, i32);
  call("extra.named_barrier_sync", {Int(1), Int(64)});
  call("extra.globaltimer");
  EXPECT_EQ(call("extra.num_threads").as<Int>(), 128);
  EXPECT_TRUE(emitted("simt.ballot"));
  EXPECT_TRUE(emitted("simt.shuffle"));
  EXPECT_EQ(failure("extra.__shfl_sync_i32", {Int(-1), argument(DType{Scalar::Int64}), Int(1)}), "type");
  call("extra.__shfl_sync_with_mode_i32", {Int(-1), argument(i32), Int(1), std::string("bfly")});
  EXPECT_EQ(mlir::cast<simt::ShuffleOp>(last()).getMode(), simt::Shuffle::Xor);
  EXPECT_EQ(failure("extra.named_barrier_sync", {Int(16), Int(64)}), "argument-value");
}

TEST_F(EmitTest, ThreadMemory) {
  Value n = pointer(Scalar::Int32), p = pointer(Scalar::Bf16);
  Value x = call("extra.ld", {n}, {{"scope", std::string("sys")}, {"semantic", std::string("acquire")}});
  EXPECT_EQ(mlir::cast<simt::LdOp>(last()).getSem(), tile::Semantic::Acquire);
  call("extra.st", {n, x, std::string("agent"), std::string("monotonic")});
  call("extra.st", {n, argument(DType{Scalar::Fp32})});  // the bits, not the number
  EXPECT_TRUE(mlir::cast<simt::StOp>(last()).getValue().getDefiningOp()->getName().getStringRef().contains("bitcast"));
  call("extra.st_b32", {n, Int(7)});
  EXPECT_TRUE(mlir::cast<simt::StOp>(last()).getWeak());
  Value v = call("extra.load_v4_u32", {p});
  auto load = v.elements()[0].as<Tensor>().value.getDefiningOp()->getOperand(0).getDefiningOp<simt::LdOp>();
  EXPECT_FALSE(load.getWeak()) << "kernels poll with it";
  ASSERT_EQ(v.elements().size(), 4u);
  EXPECT_EQ(v.elements()[0].as<Tensor>().type.dtype, DType{Scalar::UInt32});
  call("extra.st_v4_b32", {p, v.elements()[0], v.elements()[1], v.elements()[2], v.elements()[3]});
  call("extra.atomic_add", {n, Int(1), std::string("sys"), std::string("release")});
  call("extra.atomic_cas", {n, Int(0), Int(1), std::string("gpu"), std::string("relaxed")});
  EXPECT_EQ(call("extra.pack_b32_v2", {Int(1), x}).as<Tensor>().type.dtype, DType{Scalar::UInt64});
  EXPECT_EQ(failure("extra.ld", {n, std::string("gpu"), std::string("release")}), "argument-value");
  ops();
}

TEST_F(EmitTest, Multicast) {
  Value p = pointer(Scalar::Bf16);
  Value v = call("extra.multimem_ld_reduce_v4", {p});
  ASSERT_EQ(v.elements().size(), 4u);
  call("extra.multimem_st_v4", {p, v.elements()[0], v.elements()[1], v.elements()[2], v.elements()[3]});
  call("extra.multimem_st_b64", {p, Int(1)});
  EXPECT_EQ(failure("extra.multimem_ld_reduce_v4", {pointer(Scalar::Int32)}), "type");
  ops();
}

TEST_F(EmitTest, Vectors) {
  Value zeros = call("dl.zeros_vector", {Int(4), f32});
  Value loaded = call("dl.ld_vector", {pointer(Scalar::Fp32), Int(4), std::string("gpu"), std::string("relaxed")});
  Value sum = call("dl.vector.__add__", {zeros, loaded});
  EXPECT_EQ(sum.as<Tensor>().type, (Type{f32, {}, 4}));
  EXPECT_EQ(call("dl.vector.to", {sum, f16}).as<Tensor>().type, (Type{f16, {}, 4}));
  EXPECT_EQ(call("dl.vector.recast", {sum, f16}).as<Tensor>().type, (Type{f16, {}, 8}));
  call("dl.st_vector", {pointer(Scalar::Fp32), sum, std::string(""), std::string("")});
  Value packed = call("extra.pack", {call("dl.make_vector", {argument(f16), argument(f16)}), DType{Scalar::UInt32}});
  EXPECT_EQ(call("extra.unpack", {packed, f16}).as<Tensor>().type, (Type{f16, {}, 2}));
  EXPECT_EQ(failure("dl.zeros_vector", {Int(3), f32}), "argument-value");
  EXPECT_EQ(failure("dl.st_vector", {pointer(Scalar::Fp16), sum}), "type");
  ops();
}

TEST_F(EmitTest, SharedMemory) {
  Value smem = call("dl.allocate_smem", {f32, makeTuple({Int(2), Int(8)})});
  Value half = call("dl.smem_index", {smem, Int(1)});
  call("dl.smem_store", {half, Value(1.0), Int(3)});
  EXPECT_EQ(call("dl.smem_load", {smem, makeTuple({Int(0), Int(3)})}).as<Tensor>().type, (Type{f32, {}}));
  EXPECT_EQ(call("dl.get_smem_shared_address_u32", {half}).as<Tensor>().type.dtype, DType{Scalar::UInt32});
  EXPECT_EQ(failure("dl.smem_load", {smem, Int(0)}), "argument-value");
  EXPECT_EQ(failure("dl.smem_index", {half, Int(0)}), "type");
  EXPECT_EQ(failure("dl.allocate_smem", {f32, makeTuple({Int(0)})}), "argument-value");
  ops();
}

TEST(Comparison, IsOneOfTheDialectUnderItsWord) {
  for (int number = 0; number < TD_COMPARE_COUNT; ++number) {
    Compare compare = Compare(number);
    EXPECT_EQ(dist::stringifyCompare(dist::compareOf(compare)), wordOf(compare));
    EXPECT_EQ(dist::compareOf(dist::compareOf(compare)), compare);
  }
}

}  // namespace tandem::frontend
