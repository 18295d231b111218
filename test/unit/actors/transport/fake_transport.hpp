#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/transport/transport.hpp"
#include "messaging/bson/view.hpp"

namespace troupe::transport {

/// A client's end made of strings.
class FakeTransport final : public Transport {
 public:
  /// Bytes from the client.
  void arrive(std::string_view bytes) {
    in_ += bytes;
    deliver();
  }
  void hangUp() { close(); }
  /// The frames the server has sent since the last call.
  std::vector<std::string> sent() {
    std::vector<std::string> frames;
    while (out_.size() >= 4) {
      const auto length = static_cast<size_t>(bson::load<int32_t>(out_.data()));
      if (out_.size() < length) break;
      frames.push_back(out_.substr(0, length));
      out_.erase(0, length);
    }
    return frames;
  }
  bool closed() const { return closed_; }
  size_t accepts = SIZE_MAX;  ///< bytes the socket takes without waiting
  size_t takes = SIZE_MAX;    ///< of a write that waits, at once

  Future<StatusWith<size_t>> read(std::shared_ptr<wire::ReadBuffer> into) override {
    reading_.emplace();
    auto future = reading_->future();
    into_ = std::move(into);
    deliver();
    return future;
  }
  StatusWith<size_t> writeNow(std::string_view bytes) override {
    if (closed_) return Status(ErrorCode::kHostUnreachable, "closed");
    const size_t n = std::min(bytes.size(), accepts);
    out_ += bytes.substr(0, n);
    return n;
  }
  Future<Status> write(std::shared_ptr<const std::string> bytes, size_t from) override {
    Promise<Status> done;
    auto future = done.future();
    rest_ = bytes->substr(from);
    writing_ = std::move(done);
    take(takes);
    return future;
  }
  /// The client's machine takes so much of what is being written.
  void take(size_t bytes) {
    if (!writing_) return;
    const size_t n = std::min(bytes, rest_.size());
    out_ += rest_.substr(0, n);
    rest_.erase(0, n);
    taken_ += static_cast<int64_t>(n);
    if (!rest_.empty() && !closed_) return;
    const Status outcome = rest_.empty() ? Status::OK() : Status(ErrorCode::kHostUnreachable, "closed");
    auto writing = std::exchange(writing_, std::nullopt);
    writing->set(outcome);
  }
  int64_t bytesTaken() const override { return taken_; }
  bool isPeerGone() const override { return closed_; }
  void close() override {
    closed_ = true;
    take(0);
    deliver();
  }

 private:
  /// Completes the read that waits, if there is something to tell.
  void deliver() {
    if (!reading_ || (in_.empty() && !closed_)) return;
    const auto room = into_->prepare();
    const size_t n = std::min(room.size(), in_.size());
    std::copy_n(in_.data(), n, room.data());
    into_->commit(n);
    in_.erase(0, n);
    StatusWith<size_t> outcome(n);
    if (n == 0) outcome = Status(ErrorCode::kHostUnreachable, "closed");
    auto reading = std::move(*reading_);
    reading_.reset();
    reading.set(std::move(outcome));
  }
  std::string in_, out_, rest_;
  int64_t taken_ = 0;
  std::optional<Promise<Status>> writing_;
  std::optional<Promise<StatusWith<size_t>>> reading_;
  std::shared_ptr<wire::ReadBuffer> into_;
  bool closed_ = false;
};

}  // namespace troupe::transport
