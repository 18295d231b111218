#pragma once
#include <boost/asio.hpp>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/client/uri.hpp"
#include "messaging/wire/frame_reader.hpp"
#include "messaging/wire/message_builder.hpp"
#include "messaging/wire/op_msg.hpp"

namespace troupe::client {

/// A server of one connection that answers from a list and keeps what it was asked. It hangs up when the list is used
/// up.
class ScriptedServer {
 public:
  explicit ScriptedServer(std::vector<bson::Document> answers)
      : answers_(std::move(answers)),
        acceptor_(io_, {boost::asio::ip::address_v4::loopback(), 0}),
        thread_([this] { serve(); }) {}
  ~ScriptedServer() { thread_.join(); }

  Target target() const {
    Target target;
    target.port = acceptor_.local_endpoint().port();
    return target;
  }
  /// The requests, with the documents of sequences as arrays; after the client has gone.
  const std::vector<bson::Document>& asked() {
    if (thread_.joinable()) thread_.join();
    thread_ = std::thread([] {});
    return asked_;
  }

 private:
  void serve() {
    boost::asio::ip::tcp::socket socket(io_);
    acceptor_.accept(socket);
    wire::FrameReader reader;
    size_t next = 0;
    boost::system::error_code error;
    while (!error) {
      const auto frame = reader.next();
      if (frame->empty()) {
        const auto room = reader.prepare();
        reader.commit(socket.read_some(boost::asio::buffer(room.data(), room.size()), error));
        continue;
      }
      const auto message = wire::parseOpMsg(*frame);
      bson::Builder kept;
      kept.appendAll(message->body);
      for (const auto& sequence : message->sequences) {
        kept.openArray(sequence.name);
        for (const auto document : sequence.documents) kept.push(document);
        kept.close();
      }
      asked_.push_back(kept.finish());
      if (next == answers_.size()) return;
      wire::MessageBuilder reply;
      reply.body().appendAll(answers_[next++]);
      boost::asio::write(
          socket,
          boost::asio::buffer(std::move(reply).finish({.requestId = 1, .responseTo = message->header.requestId})),
          error);
    }
  }

  std::vector<bson::Document> answers_;
  std::vector<bson::Document> asked_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::thread thread_;
};

}  // namespace troupe::client
