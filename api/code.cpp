// These functions read compiled code, for the simulator or for a GPU.
#include "api/code.h"
#include "interpreter/program.h"
#include "abi/kernel_image.h"

namespace tandem {

const std::string& nameOf(const runtime::Code& code) {
  return code.kernel ? code.kernel->image().name : code.program->name;
}

std::string targetOf(const runtime::Code& code) { return code.kernel ? code.kernel->image().target : "sim"; }

size_t argumentCount(const runtime::Code& code) {
  return code.kernel ? code.kernel->image().params.size() : code.program->arguments.size();
}

namespace {
// A kernel that is compiled to record also runs in a session without a trace, and the other way round.
std::string withoutTrace(std::string target) {
  const std::string added = "+trace";
  size_t at = target.find(added);
  return at == target.npos ? target : target.erase(at, added.size());
}
}  // namespace

void checkTarget(const runtime::Code& code, const runtime::Session& session, int rank) {
  std::string made = targetOf(code), wanted = session.target(rank);
  if (made != wanted && withoutTrace(made) != withoutTrace(wanted))
    throw std::invalid_argument("kernel `" + nameOf(code) + "` is compiled for `" + made + "`, but rank " +
                                std::to_string(rank) + " runs code for `" + wanted + "`");
}

}  // namespace tandem
