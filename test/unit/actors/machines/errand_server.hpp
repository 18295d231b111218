#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/machines/collection_store.hpp"
#include "actors/machines/document_removals.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"
#include "test/unit/actors/machines/errand_node.hpp"

namespace troupe::machines::test {

using commands::CommandNode;

/// The other side of the errands: it answers if the test says so.
class SilentPeer final : public Actor {
 public:
  Behaviour behaviour() override {
    return {on<Prepare>([this](const Prepare&, Context& context) {
              ++asked;
              if (agrees) context.reply(local(Agreed{}));
              else open.push_back(std::move(context));
            }),
            on<Finished>([](const Finished&) {})};
  }
  bool agrees = false;
  int asked = 0;
  std::vector<Context> open;
};

struct Asked {
  std::optional<Answer> answer;
};
inline Task<void> keep(std::shared_ptr<Asked> asked, Future<Answer> future) { asked->answer = co_await future; }

/// A whole server behind its commands, with a service of errands whose documents are in config.errands.
class ErrandServer : public commands::CommandTest {
 protected:
  ErrandServer() { begin(server); }
  explicit ErrandServer(storage::DeterministicDisk disk) : CommandTest(CommandNode::Options{.disk = std::move(disk)}) {
    begin(server);
  }

  /// The service, and a peer that never answers: an errand waits for it until a nudge.
  void begin(CommandNode& at) {
    auto made = std::make_unique<SilentPeer>();
    peer = made.get();
    at.node.spawn("/peer", std::move(made), SpawnOptions{});
    HostOptions<Errand> options;
    options.perform = [](Actor&, ActionOf<Errand>, Doing<Errand::Event>) { return ready(); };
    auto store =
        std::make_shared<CollectionStore>(at.assembly.storageAccess(), storage::Namespace("config", "errands"));
    service = at.node.spawn<PrimaryOnlyService<Errand>>("/errands", std::move(store), options);
    at.node.advance(10ms);
  }
  static Task<StatusWith<std::optional<Errand::Event>>> ready() { co_return std::optional<Errand::Event>(Ready{"me"}); }

  std::shared_ptr<Asked> start(const std::string& id, bool untilEnd = false) {
    auto asked = std::make_shared<Asked>();
    server.node.start(keep(asked, server.node.ask(service, local(StartMachine<Errand>{{.id = id}, untilEnd}))));
    settle();
    return asked;
  }
  void settle() { server.node.advance(500ms); }
  std::string phaseOf(const std::string& id) const {
    const auto row = server.node.registry().row("/errands/" + id);
    return row ? row->phase : "none";
  }

  SilentPeer* peer = nullptr;
  Address service;
};

}  // namespace troupe::machines::test
