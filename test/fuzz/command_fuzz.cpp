// Commands as a client might send them: an input is a few BSON documents, each a command for a server of its own, which
// has no sockets, threads or disk. Every command must be answered, none may break an invariant, and afterwards
// collections and indexes must agree.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "actors/server/command.hpp"
#include "messaging/bson/json.hpp"
#include "messaging/bson/validate.hpp"
#include "storage/validation/validate.hpp"
#include "supervisors/assembly/node_assembly.hpp"
#include "test/fuzz/support/document_mutator.hpp"
#include "test/unit/actors/commands/command_node.hpp"

using namespace troupe;

namespace {

constexpr size_t kMaxCommands = 12;
/// Virtual time a command gets; then it is killed, as an operator would.
constexpr int kStepsOfTenMillis = 300;

[[noreturn]] void fail(const char* what, bson::View command, const std::string& detail) {
  std::fprintf(stderr, "%s\n  command: %s\n  %s\n", what, bson::toCanonicalJson(command).c_str(), detail.c_str());
  std::abort();
}

std::vector<bson::View> commandsIn(std::string_view bytes) {
  std::vector<bson::View> commands;
  while (commands.size() < kMaxCommands) {
    const auto size = bson::validate(bytes, {.maxSize = bson::kMaxDocumentSize, .maxDepth = bson::kMaxNestingDepth});
    if (!size.isOK()) break;
    commands.emplace_back(bytes.data());
    bytes.remove_prefix(static_cast<size_t>(*size));
  }
  return commands;
}

/// Where a client would send it: what only `admin` knows goes there.
std::string_view databaseFor(const commands::CommandNode& server, bson::View command) {
  const server::Command* known = server.server->commands.find(command.first().name());
  return known && known->adminOnly ? "admin" : "test";
}

void checkReply(bson::View command, const bson::Document& reply) {
  // Texts in it may be clients' own, which are stored as they are.
  if (!bson::validate(reply.view().bytes()).isOK()) fail("a reply is no document", command, "");
  const bson::Element ok = reply["ok"];
  if (!ok.isNumber()) fail("a reply without ok", command, bson::toCanonicalJson(reply));
  if (ok.truthy()) return;
  const bool explained =
      reply["code"].isNumber() && reply["codeName"].is(bson::Type::kString) && reply["errmsg"].is(bson::Type::kString);
  if (!explained) fail("an error without its reason", command, bson::toCanonicalJson(reply));
  const std::string_view why = reply["errmsg"].asString();  // a fail point answers as it was told
  const bool armed = why.ends_with("failpoint") || why.ends_with("fail point.");
  if (reply["code"].toInt64() == static_cast<int64_t>(ErrorCode::kInternalError) && !armed)
    fail("an internal error", command, bson::toCanonicalJson(reply));
}

void run(commands::CommandNode& server, bson::View command) {
  const auto exchange = server.begin(command, databaseFor(server, command));
  for (int step = 0; !exchange->done && step < kStepsOfTenMillis; ++step)
    server.node.advance(std::chrono::milliseconds(10));
  if (!exchange->done) {
    exchange->operation.kill(ErrorCode::kInterrupted);
    for (int step = 0; !exchange->done && step < kStepsOfTenMillis; ++step)
      server.node.advance(std::chrono::seconds(10));
  }
  if (!exchange->done) fail("a command that does not end", command, "");
  if (exchange->request.dropReply) return;
  checkReply(command, exchange->takeReply());
}

/// Written data must be readable: every collection is validated.
void checkStorage(commands::CommandNode& server, bson::View last) {
  const auto catalog = server.catalog->snapshot();
  for (const auto& db : catalog->databases()) {
    for (const auto& collection : catalog->collections(db)) {
      if (collection->isView()) continue;
      storage::OperationContext operation(server.server->operations);
      storage::RecoveryUnit& unit = operation.recoveryUnit();
      const auto found = storage::validateCollection(*server.catalog, unit, collection, {.full = true});
      if (!found.isOK()) fail("a collection that cannot be validated", last, found.status().toString());
      const bson::Document result = found->toDocument();
      if (!result["valid"].truthy()) fail("a collection that is not valid", last, bson::toCanonicalJson(result));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto all = commandsIn({reinterpret_cast<const char*>(data), size});
  if (all.empty()) return -1;  // nothing to keep
  commands::CommandNode server;
  for (const bson::View command : all) run(server, command);
  checkStorage(server, all.back());
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t maxSize);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize, unsigned int seed) {
  const auto all = commandsIn({reinterpret_cast<const char*>(data), size});
  fuzz::DocumentMutator mutator(seed);
  if (all.empty() || mutator.below(20) == 0) return LLVMFuzzerMutate(data, size, maxSize);
  const std::string changed = mutator.changeOne(all);
  if (changed.size() > maxSize) return size;
  std::copy(changed.begin(), changed.end(), data);
  return changed.size();
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t sizeA, const uint8_t* b, size_t sizeB,
                                            uint8_t* out, size_t maxSize, unsigned int seed) {
  const auto left = commandsIn({reinterpret_cast<const char*>(a), sizeA});
  const auto right = commandsIn({reinterpret_cast<const char*>(b), sizeB});
  if (left.empty() || right.empty()) return 0;
  fuzz::DocumentMutator mutator(seed);
  const std::string crossed = mutator.cross(left, right);
  if (crossed.size() > maxSize) return 0;
  std::copy(crossed.begin(), crossed.end(), out);
  return crossed.size();
}
