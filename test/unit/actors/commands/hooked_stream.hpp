#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/actors/commands/command_node.hpp"

namespace troupe::commands {
using namespace server;

/// The results of another stream, with something that happens while a batch is filled with them.
class HookedStream final : public ResultStream {
 public:
  struct Hook {
    std::function<void()> act = {};                       ///< before each result
    std::optional<std::chrono::milliseconds> pause = {};  ///< that the stream asks for before the next result
  };
  HookedStream(std::unique_ptr<ResultStream> inner, Hook hook) : inner_(std::move(inner)), hook_(std::move(hook)) {}

  StatusWith<query::Next> next() override {
    if (hook_.pause) return query::Next::yield();
    if (hook_.act) hook_.act();
    return inner_->next();
  }
  std::optional<std::chrono::milliseconds> takeWait() override { return std::exchange(hook_.pause, std::nullopt); }
  void save() override { inner_->save(); }
  Task<Status> adjustLocks(Request& request) override { return inner_->adjustLocks(request); }
  Status restore(storage::OperationContext& operation) override { return inner_->restore(operation); }
  void report(storage::OperationMetrics& metrics) const override { inner_->report(metrics); }

 private:
  std::unique_ptr<ResultStream> inner_;
  Hook hook_;
};

/// Puts the hook into the only cursor that is open, and idle.
inline void hookOpenCursor(CommandNode& server, HookedStream::Hook hook) {
  int64_t id = 0;
  std::string ns;
  std::vector<UserKey> owners;
  server.cursors.each([&](const ClientCursor& open) {
    ASSERT_EQ(id, 0) << "one is enough";
    id = open.id;
    ns = open.ns;
    owners = open.owners;
  });
  auto cursor = server.cursors.pin(id, ns, owners, {}, nullptr);
  ASSERT_TRUE(cursor.isOK()) << cursor.status().toString();
  (*cursor)->stream = std::make_unique<HookedStream>(std::move((*cursor)->stream), std::move(hook));
  ASSERT_TRUE(server.cursors.unpin(*cursor, server.time->now()));
}

}  // namespace troupe::commands
