#include "majority_writers.hpp"

#include <algorithm>
#include <optional>

#include "demo_data.hpp"
#include "messaging/client/cursor.hpp"

namespace troupe::demo {

using bson::doc;

namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(20);

/// An answer without an error of the write concern: a majority has it.
bool isAcknowledged(const StatusWith<bson::Document>& reply) {
  return reply.isOK() && !reply->view()["writeConcernError"] && !reply->view()["writeErrors"];
}

}  // namespace

StatusWith<client::Connection> connectToPrimary(const std::vector<uint16_t>& ports) {
  for (const uint16_t port : ports) {
    client::Target target;
    target.port = port;
    target.connectTimeoutMs = 2000;
    target.appName = "troupe-demo";
    auto connection = client::Connection::open(target);
    if (connection.isOK() && connection->hello()["isWritablePrimary"].truthy()) return connection;
  }
  return {ErrorCode::kHostUnreachable, "no member of the set takes writes at the moment"};
}

MajorityWriters::MajorityWriters(std::vector<uint16_t> ports, int clients)
    : ports_(std::move(ports)), clients_(clients) {
  for (int64_t i = 0; i < clients_; ++i) threads_.emplace_back([this, i] { write(i); });
}

void MajorityWriters::stop() {
  stopping_ = true;
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

void MajorityWriters::write(int64_t first) {
  std::optional<client::Connection> connection;
  auto lastAnswer = Clock::now();
  for (int64_t id = first; !stopping_; id += clients_) {
    while (!connection && !stopping_) {
      auto found = connectToPrimary(ports_);
      if (found.isOK()) connection.emplace(std::move(*found));
      else std::this_thread::sleep_for(kBetweenLooks);
    }
    if (!connection) return;
    const auto reply = connection->run(kDemoDatabase, doc("insert", kWritten, "documents", bson::array(doc("_id", id)),
                                                          "writeConcern", doc("w", "majority")));
    if (isAcknowledged(reply)) {
      acknowledge(id, Clock::now() - lastAnswer);
      lastAnswer = Clock::now();
    } else {
      ++unclear_;
      connection.reset();
    }
  }
}

void MajorityWriters::acknowledge(int64_t id, Clock::duration waited) {
  const std::lock_guard lock(mutex_);
  acknowledged_.insert(id);
  longestWait_ = std::max(longestWait_, waited);
}

int64_t MajorityWriters::acknowledged() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(acknowledged_.size());
}

double MajorityWriters::longestWaitSeconds() const {
  const std::lock_guard lock(mutex_);
  return std::chrono::duration<double>(longestWait_).count();
}

StatusWith<int64_t> MajorityWriters::missingOn(client::Connection& connection, std::string_view readConcern) const {
  TROUPE_ASSIGN(auto cursor, client::Cursor::open(
                                 connection, kDemoDatabase,
                                 doc("find", kWritten, "batchSize", 10'000, "readConcern", doc("level", readConcern))));
  std::set<int64_t> missing;
  {
    const std::lock_guard lock(mutex_);
    missing = acknowledged_;
  }
  for (;;) {
    TROUPE_ASSIGN(const auto found, cursor.next());
    if (!found) return static_cast<int64_t>(missing.size());
    missing.erase((*found)["_id"].toInt64());
  }
}

}  // namespace troupe::demo
