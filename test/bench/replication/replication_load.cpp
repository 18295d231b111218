// The load of the replication benchmarks (run.py): clients of one server, for a while. Prints one JSON line.
#include <cstdio>
#include <sstream>

#include "messaging/bson/document.hpp"
#include "test/bench/replication/load.hpp"
#include "test/bench/support/command_client.hpp"
#include "test/bench/support/store.hpp"

namespace {

using namespace troupe;
using namespace troupe::bench;

struct Shape {
  std::string concern;  ///< majority, journaled or one
  std::string read;     ///< a read concern
  size_t bytes;         ///< of a document's text
  uint64_t records;     ///< that finds and updates choose among
};

bson::Document concernOf(const Shape& shape) {
  if (shape.concern == "majority") return bson::doc("w", "majority", "wtimeout", 60'000);
  return bson::doc("w", 1, "j", shape.concern == "journaled");
}

/// Of the connection whose first operation has that number.
bson::Uuid sessionIdOf(uint64_t number) {
  bson::Uuid id;
  for (size_t i = 0; i < sizeof number; ++i) id.bytes[i] = static_cast<uint8_t>(number >> (8 * i));
  return id;
}

std::string textOf(const Shape& shape) {
  RecordMaker maker(shape.bytes);
  std::string text;
  while (text.size() < shape.bytes) text += maker.text();
  text.resize(shape.bytes);
  return text;
}

/// `a` and `b` are there for indexes: one value a document, and a thousand values.
bson::Document documentOf(uint64_t number, const std::string& text) {
  const auto id = static_cast<int64_t>(number);
  return bson::doc("_id", id, "a", static_cast<int64_t>(number * 0x9E3779B97F4A7C15u >> 1), "b", id % 1000, "text",
                   text);
}

Operation inserts(int port, const Shape& shape) {
  auto session = std::make_shared<CommandClient>(port);
  return [session, text = textOf(shape), concern = concernOf(shape)](uint64_t number) {
    const bson::Document document = documentOf(number, text);
    const wire::DocumentSequence sequence{"documents", wire::DocumentRange(document.view().bytes(), 1)};
    const auto reply = session->run(bson::doc("insert", "docs", "writeConcern", concern), {&sequence, 1});
    if (reply["n"].toInt64() != 1 || reply["writeConcernError"]) throw BenchError("not inserted as asked for");
  };
}

/// As a driver sends them: each insert under the next number of its connection's session.
Operation numberedInserts(int port, const Shape& shape) {
  auto session = std::make_shared<CommandClient>(port);
  auto numbered = std::make_shared<int64_t>(0);
  return [session, numbered, id = bson::Document(), text = textOf(shape),
          concern = concernOf(shape)](uint64_t number) mutable {
    if (id.empty()) id = bson::doc("id", sessionIdOf(number));
    const bson::Document document = documentOf(number, text);
    const wire::DocumentSequence sequence{"documents", wire::DocumentRange(document.view().bytes(), 1)};
    const auto command =
        bson::doc("insert", "docs", "writeConcern", concern, "lsid", id, "txnNumber", int64_t{++*numbered});
    const auto reply = session->run(command, {&sequence, 1});
    if (reply["n"].toInt64() != 1 || reply["writeConcernError"] || reply["retriedStmtIds"])
      throw BenchError("not inserted as asked for");
  };
}

Operation finds(int port, const Shape& shape) {
  auto session = std::make_shared<CommandClient>(port);
  return [session, shape](uint64_t number) {
    const auto reply = session->run(
        bson::doc("find", "docs", "filter", bson::doc("_id", static_cast<int64_t>(number * 7919 % shape.records)),
                  "limit", int64_t{1}, "singleBatch", true, "readConcern", bson::doc("level", shape.read),
                  "$readPreference", bson::doc("mode", "secondaryPreferred")));
    if (reply.at("cursor.firstBatch").asArray().empty()) throw BenchError("a document is missing");
  };
}

/// Thousand statements a command, over the documents 0 to `records` - 1; each adds one to `n` of its document.
void updateAll(int port, const Shape& shape) {
  CommandClient session(port);
  for (uint64_t first = 0; first < shape.records; first += 1000) {
    std::string statements;
    uint64_t count = 0;
    for (; count < 1000 && first + count < shape.records; ++count)
      statements += bson::doc("q", bson::doc("_id", static_cast<int64_t>(first + count)), "u",
                              bson::doc("$inc", bson::doc("n", 1)))
                        .view()
                        .bytes();
    const wire::DocumentSequence sequence{"updates", wire::DocumentRange(statements, count)};
    session.run(bson::doc("update", "docs", "writeConcern", concernOf(shape)), {&sequence, 1});
  }
}

void insertAll(int port, const Shape& shape) {
  CommandClient session(port);
  const std::string text = textOf(shape);
  for (uint64_t first = 0; first < shape.records; first += 1000) {
    std::string documents;
    uint64_t count = 0;
    for (; count < 1000 && first + count < shape.records; ++count)
      documents += documentOf(first + count, text).view().bytes();
    const wire::DocumentSequence sequence{"documents", wire::DocumentRange(documents, count)};
    if (session.run(bson::doc("insert", "docs", "writeConcern", concernOf(shape)), {&sequence, 1})["n"].toInt64() !=
        static_cast<int64_t>(count))
      throw BenchError("not everything was inserted");
  }
}

std::vector<int> numbers(const std::string& list) {
  std::vector<int> found;
  std::istringstream in(list);
  for (std::string one; std::getline(in, one, ',');) found.push_back(std::stoi(one));
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv,
                            {{"work", "insert"},
                             {"port", "27017"},
                             {"pids", ""},
                             {"concern", "one"},
                             {"read", "local"},
                             {"bytes", "1024"},
                             {"records", "1000"},
                             {"connections", "16"},
                             {"seconds", "2"},
                             {"rate", "0"}});
  return run([&] {
    const Shape shape{arguments.text("concern"), arguments.text("read"), static_cast<size_t>(arguments.number("bytes")),
                      static_cast<uint64_t>(arguments.number("records"))};
    const int port = arguments.number("port");
    const std::string work = arguments.text("work");
    if (work == "insert-all") return insertAll(port, shape);
    if (work == "update-all") return updateAll(port, shape);
    const Connect connect = [&](int) -> Operation {
      if (work == "etcd-put") return etcdPut(port, shape.bytes);
      if (work == "find") return finds(port, shape);
      if (work == "insert") return inserts(port, shape);
      if (work == "insert-numbered") return numberedInserts(port, shape);
      throw BenchError("no such work: " + work);
    };
    const Load load = runLoad(arguments.number("connections"), arguments.decimal("seconds"), arguments.decimal("rate"),
                              numbers(arguments.text("pids")), connect);
    std::printf(
        "{\"perSecond\":%.1f,\"cpuMicros\":%.2f,\"medianMs\":%.3f,\"percentile99Ms\":%.3f,\"highestMs\":%.3f}\n",
        load.perSecond, load.cpuMicros, load.medianMs, load.percentile99Ms, load.highestMs);
  });
}
