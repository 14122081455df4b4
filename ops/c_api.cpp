// The C ABI of operators, by name.
#include "api/guarded.h"
#include "api/required.h"
#include "api/text_out.h"
#include "ops/table.h"
#include "tandem/op_c_api.h"
#include <nlohmann/json.hpp>

using namespace tandem;
using nlohmann::json;

// An operator with the team it lives on.
struct td_op {
  Team team;
  std::unique_ptr<ops::Operator> op;

  ops::Operator& open() {
    if (!op) throw Error("the operator is closed");
    return *op;
  }
};

namespace {

template <class Item, class Out = std::remove_const_t<Item>>
std::vector<Out> list(Item* items, int count, const char* name) {
  if (count < 0) throw Error("a list of " + std::to_string(count) + " `" + name + "`");
  if (count) required(items, name);
  return {items, items + count};
}

json choicesOf(const json& request) {
  json op = request.value("op", json());
  if (!op.is_string()) throw Error("`op` is " + op.dump() + ", a text is needed");
  std::string all;
  for (const ops::Table* table : ops::allTables()) {
    if (!table->choices) continue;
    if (op == json(table->name)) return table->choices(request);
    all += (all.empty() ? "`" : ", `") + table->name + "`";
  }
  throw Error("`" + op.get<std::string>() + "` is not one of " + all);
}

}  // namespace

extern "C" {

int td_op_tables(char** out) {
  return guarded([&] {
    auto& place = required(out, "json");
    json all = json::array();
    for (const ops::Table* table : ops::allTables()) all.push_back(table->asJson());
    place = copyOut(all);
  });
}
int td_op_create(td_session* s, int rank, const char* name, const int64_t* sizes, int count, int dtype,
                 const char* config, td_op** op) {
  return guarded([&] {
    auto& place = required(op, "op");
    json options = json::parse(&required(config, "config"), nullptr, false);
    if (options.is_discarded())
      throw Error("`config` is " + std::string(config) + ", JSON with finite numbers is needed");
    const ops::Table& table = ops::tableOf(&required(name, "name"));
    std::vector<int64_t> given = list(sizes, count, "sizes");
    if (given.size() != table.sizes.size())
      throw Error("`" + table.name + "`: " + std::to_string(count) + " sizes given, " +
                  std::to_string(table.sizes.size()) + " wanted");
    auto made = std::make_unique<td_op>(Team(s, rank, rankCount(s)), nullptr);
    made->op = table.make(made->team, given, ops::checkedDType(dtype), options);
    place = made.release();
  });
}
int td_op_run(td_op* h, int stream, const uint64_t* tensors, int tensorCount, const int64_t* numbers, int numberCount) {
  return guarded([&] {
    required(h, "op").open().callAt(list(tensors, tensorCount, "tensors"), list(numbers, numberCount, "numbers"),
                                    stream);
  });
}
int td_op_tune(td_op* h, int stream, const uint64_t* tensors, int tensorCount, const int64_t* numbers, int numberCount,
               char** out) {
  return guarded([&] {
    auto& op = required(h, "op").open();
    auto& place = required(out, "json");
    place = copyOut(op.tuneAt(list(tensors, tensorCount, "tensors"), list(numbers, numberCount, "numbers"), stream));
  });
}
int td_op_close(td_op* h) {
  return guarded([&] {
    auto& op = required(h, "op").op;
    if (op) op->close();
    op.reset();
  });
}
int td_op_memory(td_op* h, char** out) {
  return guarded([&] {
    ops::MemoryBytes bytes = required(h, "op").open().memory();
    required(out, "json") = copyOut({{"symmetric", bytes.symmetric}, {"local", bytes.local}});
  });
}
void td_op_destroy(td_op* h) { delete h; }

int td_op_workspace(td_session* s, int rank, char** out) {
  return guarded([&] {
    auto& place = required(out, "json");
    Team team(s, rank, rankCount(s));
    place = copyOut(json::parse(ops::workspaceReport(team)));
  });
}

int td_op_choices(const char* request, char** out) {
  return guarded([&] {
    auto& place = required(out, "json");
    place = copyOut(choicesOf(json::parse(&required(request, "request"))));
  });
}

}  // extern "C"
