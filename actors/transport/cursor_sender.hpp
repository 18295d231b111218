#pragma once
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "actors/kernel/actor.hpp"
#include "actors/transport/remote_command.hpp"

namespace troupe::transport {

/// A cursor on this node that another node reads. Each `schema::NextBatch` grants it credit for one batch; it makes
/// that batch at once, so that with several grants on the way the reader never waits for a round trip, and pauses when
/// there is none. It ends with its last batch, with a failure, when its reader closes it or its link ends, and when
/// nobody has asked for long; the server's cursor ends with it in every case.
class CursorSender final : public Actor {
 public:
  /// Parameters for getMore.
  struct Cursor {
    Cursor(int64_t id, std::string_view ns, bson::View command);
    int64_t id;
    std::string database, collection;
    bson::Document session;  ///< the `lsid` it was opened in, or empty
  };
  /// Grants that may wait for their batches.
  static constexpr size_t kMostGrants = 64;

  CursorSender(std::shared_ptr<RemoteCommand> opened, Cursor cursor);
  Behaviour behaviour() override;
  void onStart() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 private:
  struct Grant {
    size_t bytes;
    Context asker;
  };
  Task<void> send();
  Task<StatusWith<RemoteReply>> nextBatch(size_t bytes);

  std::shared_ptr<RemoteCommand> opened_;
  const Cursor cursor_;
  std::deque<Grant> grants_;
  bool sending_ = false;
  TimePoint usedAt_;
  int64_t batches_ = 0, bytes_ = 0;
};

}  // namespace troupe::transport
