#include "test/simulation/streams.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "messaging/wire/frame_reader.hpp"
#include "test/simulation/simulation.hpp"

namespace troupe::sim {
namespace {

using namespace std::chrono_literals;

/// Nodes that are only there.
class Idle final : public Program {
 public:
  void configure(const std::string&, supervisors::AssemblyOptions&) override {}
  void died(const std::string&) override {}
};

class StreamsTest : public testing::Test {
 protected:
  /// Accepts one connection on the machine "server", and reads all of it.
  Task<void> serve(transport::Port* port) {
    auto arrival = co_await port->accept();
    if (!arrival.isOK()) co_return;
    accepted = (*arrival)->take(false);
    while (reads) {
      const auto n = co_await accepted->read(reader);
      if (!n.isOK()) break;
      while (reader->buffered() > 0) {
        const auto frame = reader->next();
        if (!frame.isOK() || frame->empty()) break;
        ++frames;
      }
    }
    ended = true;
  }
  Task<void> connect(std::string to) {
    auto connecting = cluster.streams().connect(client, to);
    auto outcome = co_await connecting.outcome;
    if (outcome.isOK()) caller = std::move(*outcome);
    else failure = outcome.status();
  }
  Task<void> writeAll(std::shared_ptr<const std::string> bytes) {
    const auto n = caller->writeNow(*bytes);
    written = *n == bytes->size();
    if (written) co_return;
    const Status rest = co_await caller->write(bytes, *n);
    written = rest.isOK();
  }
  void open() {
    server.start(serve(port.get()));
    client.start(connect("server"));
    cluster.run(1s);
    ASSERT_TRUE(caller && accepted);
  }
  /// A wire message of that many bytes.
  static std::string message(int32_t size) {
    std::string bytes(static_cast<size_t>(size), 'x');
    std::copy_n(reinterpret_cast<const char*>(&size), sizeof size, bytes.data());
    return bytes;
  }

  Idle idle;
  Simulation cluster{3, {"n1:1"}, idle};
  Node& server = cluster.addMachine("server");
  Node& client = cluster.addMachine("client");
  std::unique_ptr<transport::Port> port = std::move(cluster.streams().listen(server, {"any"}, 0, {}).front());
  std::shared_ptr<wire::FrameReader> reader = std::make_shared<wire::FrameReader>();
  std::shared_ptr<transport::Transport> accepted, caller;
  Status failure;
  int frames = 0;
  bool reads = true, ended = false, written = false;
};

/// Another one of its name would take the node from the tasks of the first.
TEST_F(StreamsTest, AMachineIsMadeOnce) { EXPECT_THROW(cluster.addMachine("server"), std::logic_error); }

TEST_F(StreamsTest, BytesArriveInOrderWhateverTheNetworkDoes) {
  cluster.network().setUsual({.loss = 0.3});
  open();
  std::string all;
  for (int i = 0; i < 200; ++i) all += message(16 + i * 37);
  client.start(writeAll(std::make_shared<const std::string>(all)));
  cluster.run(600s);
  EXPECT_EQ(frames, 200) << "a piece out of its place is no message";
  EXPECT_TRUE(written);
}

TEST_F(StreamsTest, ASenderThatNobodyReadsWaits) {
  reads = false;
  open();
  client.start(writeAll(std::make_shared<const std::string>(message(4'000'000))));
  cluster.run(60s);
  EXPECT_FALSE(written);
}

TEST_F(StreamsTest, ABrokenConnectionLosesWhatIsUnderWayFromSomeByteOn) {
  bool cutWithinAMessage = false;
  for (int tries = 0; tries < 10 && !HasFatalFailure(); ++tries) {
    open();
    std::string all;
    for (int i = 0; i < 50; ++i) all += message(100 + i);
    ASSERT_TRUE(caller->writeNow(all).isOK());
    cluster.streams().breakBetween("server", "client");
    cluster.run(1s);
    EXPECT_TRUE(ended);
    EXPECT_LT(frames, 50);
    EXPECT_FALSE(caller->writeNow("more").isOK()) << "the sender has heard of it, too";
    cutWithinAMessage |= reader->buffered() > 0;
    reader = std::make_shared<wire::FrameReader>();
    ended = false;
    frames = 0;
  }
  EXPECT_TRUE(cutWithinAMessage);
}

TEST_F(StreamsTest, APausedProcessReadsWhenItGoesOn) {
  open();
  cluster.streams().paused("server");
  EXPECT_TRUE(caller->writeNow(message(100)).isOK());
  cluster.run(10s);
  EXPECT_EQ(frames, 0);
  cluster.streams().resumed("server");
  cluster.run(1ms);
  EXPECT_EQ(frames, 1);
}

TEST_F(StreamsTest, AMachineWithoutAPortRefuses) {
  client.start(connect("nowhere"));
  cluster.run(1s);
  EXPECT_EQ(failure, ErrorCode::kHostUnreachable);
}

TEST_F(StreamsTest, TheDeathOfAProcessResetsItsConnections) {
  open();
  cluster.streams().died("client");
  cluster.run(1s);
  EXPECT_TRUE(ended);
  caller.reset();
}

TEST_F(StreamsTest, WhatAProcessHasSentBeforeItsDeathArrives) {
  open();
  EXPECT_TRUE(caller->writeNow(message(100)).isOK());
  cluster.streams().died("client");
  cluster.run(1s);
  EXPECT_EQ(frames, 1);
  EXPECT_TRUE(ended);
  caller.reset();
}

TEST_F(StreamsTest, AClosedConnectionEndsBehindItsLastBytes) {
  open();
  EXPECT_TRUE(caller->writeNow(message(100)).isOK());
  caller->close();
  cluster.run(1s);
  EXPECT_EQ(frames, 1);
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace troupe::sim
