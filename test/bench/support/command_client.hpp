#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/wire/client.hpp"
#include "test/bench/support/measure.hpp"
#include "test/bench/support/raw_client.hpp"

namespace troupe::bench {

/// Runs commands on the database `bench` of a server over a plain connection, without a driver's cost. Throws
/// BenchError for a reply that is not `ok: 1`. Used by one thread.
class CommandClient {
 public:
  explicit CommandClient(int port) : client_(port) {}

  /// The reply, borrowed until the next call.
  bson::View run(const bson::Document& command, std::span<const wire::DocumentSequence> sequences = {}) {
    ++requests_;
    const auto request = wire::buildRequest(requests_, "bench", command, sequences);
    const auto body = wire::parseReply(client_.roundTrip(request), requests_);
    if (!body.isOK()) throw BenchError(body.status().toString());
    if (const Status status = wire::replyStatus(*body); !status.isOK()) throw BenchError(status.toString());
    return *body;
  }

 private:
  RawClient client_;
  int32_t requests_ = 0;
};

}  // namespace troupe::bench
