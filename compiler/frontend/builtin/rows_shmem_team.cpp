// Ranks, teams, remote addresses, barriers and collectives of OpenSHMEM.
#include "compiler/frontend/builtin/operands.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static mlir::Value team(Context& c, const Arguments& a) { return integer(c, a["team"], Scalar::Int32, "team"); }
static mlir::Value world(Context& c) { return constant(c, Int(0), DType{Scalar::Int32}).value; }

static void addQueries(Rows& rows) {
  rows.push_back({"shmem.my_pe",
                  "",
                  {"This rank's number, an int32 from 0.", Caller::Thread},
                  [](Context& c, const Arguments&) -> Value {
                    return scalarTensor(dist::RankOp::create(c.builder, c.loc(), mlir::Value()), Scalar::Int32);
                  }});
  rows.push_back({"shmem.n_pes",
                  "",
                  {"How many ranks the run has, an int32.", Caller::Thread},
                  [](Context& c, const Arguments&) -> Value {
                    return scalarTensor(dist::NumRanksOp::create(c.builder, c.loc(), mlir::Value()), Scalar::Int32);
                  }});
  rows.push_back({"shmem.team_my_pe",
                  "team",
                  {"This rank's number in the team, an int32 from 0.", Caller::Thread},
                  [](Context& c, const Arguments& a) -> Value {
                    return scalarTensor(dist::RankOp::create(c.builder, c.loc(), team(c, a)), Scalar::Int32);
                  }});
  rows.push_back({"shmem.team_n_pes",
                  "team",
                  {"How many ranks the team has, an int32.", Caller::Thread},
                  [](Context& c, const Arguments& a) -> Value {
                    return scalarTensor(dist::NumRanksOp::create(c.builder, c.loc(), team(c, a)), Scalar::Int32);
                  }});
  rows.push_back(
      {"shmem.team_translate_pe",
       "src_team, pe_in_src_team, dest_team",
       {"The number in `dest_team` of the rank `pe_in_src_team` of `src_team`; -1: it is not there.", Caller::Thread},
       [](Context& c, const Arguments& a) -> Value {
         mlir::Value source = integer(c, a["src_team"], Scalar::Int32, "src_team");
         mlir::Value rank = integer(c, a["pe_in_src_team"], Scalar::Int32, "pe_in_src_team");
         mlir::Value dest = integer(c, a["dest_team"], Scalar::Int32, "dest_team");
         return scalarTensor(dist::TranslateRankOp::create(c.builder, c.loc(), source, rank, dest), Scalar::Int32);
       }});
  rows.push_back(
      {"shmem.set_rocshmem_ctx", "ctx", {"Does nothing.", Caller::Thread}, [](Context&, const Arguments&) -> Value {
         return None{};
       }});
}

// MORI's third argument is the destination; its second is then the caller's own rank.
static Value remotePointer(Context& c, const Arguments& a) {
  Tensor local = pointer(c, a["local_ptr"], "local_ptr");
  mlir::Value peer = integer(c, a["dest_pe"].isNone() ? a["pe"] : a["dest_pe"], Scalar::Int32, "pe");
  return Tensor{dist::SymmAtOp::create(c.builder, c.loc(), local.value, peer), local.type};
}

static Value multicastPointer(Context& c, const Arguments& a) {
  Tensor local = pointer(c, a["ptr"], "ptr");
  return Tensor{dist::MulticastAtOp::create(c.builder, c.loc(), local.value.getType(), team(c, a), local.value),
                local.type};
}

static Builtin barrierRow(const std::string& name, dist::Group group, bool syncOnly, bool ofWorld) {
  return {"shmem." + name,
          ofWorld ? "" : "team",
          {std::string("Waits until ") + (ofWorld ? "every rank" : "every rank of the team") + " has come" +
               (syncOnly ? "." : ", with its puts complete."),
           callerOf(group), "M12"},
          [=](Context& c, const Arguments& a) -> Value {
            dist::BarrierOp::create(c.builder, c.loc(), group, syncOnly, ofWorld ? world(c) : team(c, a));
            return None{};
          }};
}

static mlir::Value collectiveBytes(Context& c, const Arguments& a, bool typed) {
  if (!typed) return integer(c, a["nelems"], Scalar::Int64, "nelems");
  int64_t size = elementBytes(c, pointer(c, a["source"], "source"), "source");
  Tensor count{integer(c, a["nelems"], Scalar::Int64, "nelems"), Type{DType{Scalar::Int64}, {}}};
  return toTensor(c, binary(c, ast::BinaryOp::Mul, count, Int(size))).value;
}

// The type that the members must agree on.
static mlir::StringAttr elementOf(Context& c, const Arguments& a, bool typed) {
  return typed ? c.builder.getStringAttr(pointer(c, a["dest"], "dest").type.dtype.pointee().name()) : nullptr;
}

static Builtin broadcastRow(const std::string& name, dist::Group group, bool typed) {
  return {
      "shmem." + name,
      "team, dest, source, nelems, pe_root, barrier=False",
      {std::string("Copies `nelems` ") + (typed ? "elements" : "bytes") +
           " of the rank `pe_root` of the team to every member's `dest`. With `barrier`, barriers come before and after.",
       callerOf(group), "M12"},
      [=](Context& c, const Arguments& a) -> Value {
        mlir::Value dest = writable(c, a["dest"], "dest").value, source = pointer(c, a["source"], "source").value;
        mlir::Value bytes = collectiveBytes(c, a, typed), root = integer(c, a["pe_root"], Scalar::Int32, "pe_root");
        bool isBarrier = constexprBool(c, a["barrier"], "barrier");
        dist::BroadcastOp::create(c.builder, c.loc(), group, isBarrier, elementOf(c, a, typed), team(c, a), dest,
                                  source, bytes, root);
        return None{};
      }};
}

static Builtin fcollectRow(const std::string& name, dist::Group group, bool typed) {
  return {
      "shmem." + name,
      "team, dest, source, nelems, barrier=False",
      {std::string("Copies `nelems` ") + (typed ? "elements" : "bytes") +
           " of every member to every member's `dest`, in the team's order. With `barrier`, barriers come before and after.",
       callerOf(group), "M12"},
      [=](Context& c, const Arguments& a) -> Value {
        mlir::Value dest = writable(c, a["dest"], "dest").value, source = pointer(c, a["source"], "source").value;
        bool isBarrier = constexprBool(c, a["barrier"], "barrier");
        mlir::Value bytes = collectiveBytes(c, a, typed);
        dist::FcollectOp::create(c.builder, c.loc(), group, isBarrier, elementOf(c, a, typed), team(c, a), dest, source,
                                 bytes);
        return None{};
      }};
}

void addShmemTeamRows(Rows& rows) {
  addQueries(rows);
  rows.push_back({"shmem.remote_ptr",
                  "local_ptr, pe, dest_pe=None",
                  {"The address of `pe`'s copy of the symmetric memory at `local_ptr`.", Caller::Thread, "M2"},
                  remotePointer});
  rows.push_back(
      {"shmem.remote_mc_ptr",
       "team, ptr",
       {"The multicast address of the team's copies of the symmetric memory at `ptr`.", Caller::Thread, "M2"},
       multicastPointer});
  static const std::pair<const char*, dist::Group> scopes[] = {{"", dist::Group::Thread},
                                                               {"_warp", dist::Group::Warp},
                                                               {"_block", dist::Group::Block},
                                                               {"_wave", dist::Group::Warp},
                                                               {"_wg", dist::Group::Block}};
  for (const auto& [suffix, group] : scopes) {
    rows.push_back(barrierRow(std::string("barrier_all") + suffix, group, false, true));
    rows.push_back(barrierRow(std::string("barrier") + suffix, group, false, false));
    rows.push_back(barrierRow(std::string("sync_all") + suffix, group, true, true));
    rows.push_back(barrierRow(std::string("sync") + suffix, group, true, false));
    rows.push_back(barrierRow(std::string("team_sync") + suffix, group, true, false));
    rows.push_back(broadcastRow(std::string("broadcast") + suffix, group, true));
    rows.push_back(broadcastRow(std::string("broadcastmem") + suffix, group, false));
    rows.push_back(fcollectRow(std::string("fcollect") + suffix, group, true));
    rows.push_back(fcollectRow(std::string("fcollectmem") + suffix, group, false));
  }
  rows.push_back(barrierRow("barrier_all_vec", dist::Group::Block, false, true));
}

}  // namespace tandem::frontend::builtin
