#pragma once
#include <functional>
#include <map>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "actors/environment/virtual_environment.hpp"
#include "actors/kernel/node.hpp"
#include "actors/machines/primary_only_service.hpp"
#include "test/probe/memory_store.hpp"
#include "test/probe/probe.hpp"

namespace troupe::probe {

using namespace std::chrono_literals;

/// A stage for tests of actors: the node under test, and as many others as there are probes elsewhere. No threads; time
/// is virtual, and passes only in `advance` and while something is expected. Messages from one node to another must be
/// able to leave its process, as on a link. For one thread; outlives its probes and questions.
///
///     TestKit kit("c");
///     kit.service<Handoff>("/handoffs");                     // the actor under test, its documents in
///     kit.store("/handoffs") Probe holder = kit.probe("a", "/holder");              // the test plays node a
///     kit.ask(kit.address("/handoffs"), StartMachine<Handoff>{{.id = "L", .from =
///     "a"}}).expectAnswer<MachineStarted>(); auto drain = holder.expect<Drain>(); kit.crash(); kit.restart();
///     EXPECT_EQ(holder.expect<Drain>()->lease, "L") << "it is asked again";
class TestKit {
 public:
  explicit TestKit(std::string name = "n1", uint64_t seed = 1);
  ~TestKit();
  TestKit(const TestKit&) = delete;
  TestKit& operator=(const TestKit&) = delete;

  /// The node under test: another one after each restart. Throws std::logic_error while it is down.
  Node& node() const { return nodeOf(name_); }
  Address address(std::string_view path) const { return Address(name_, path); }
  VirtualEnvironment& time() const { return *time_; }

  /// Starts an actor on the node under test. The arguments are copied: `restart` makes it anew from them.
  template <class A, class... Args>
  Address start(std::string path, Args... args) {
    return add([path, args...](Node& node) { return node.spawn<A>(path, args...); });
  }
  /// Starts the service of machines of type M, over `store(path)`.
  template <machines::MachineType M>
  Address service(std::string path, machines::HostOptions<M> options = {}, machines::ServiceLimits limits = {}) {
    knowsAll(static_cast<typename M::Event*>(nullptr));
    knowsAll(static_cast<machines::MessageOf<M>*>(nullptr));
    std::shared_ptr<MemoryStore> documents = sharedStore(path);
    return add([path, documents, options, limits](Node& node) {
      return node.spawn<machines::PrimaryOnlyService<M>>(
          path, std::static_pointer_cast<machines::DocumentStore>(documents), options, limits);
    });
  }
  /// The documents of the service at that path. They survive crashes.
  MemoryStore& store(const std::string& path) { return *sharedStore(path); }

  /// A probe on the node under test.
  Probe probe(std::string path) { return probe(name_, std::move(path)); }
  /// A probe on another node, which is there from now on.
  Probe probe(std::string node, std::string path);

  /// From nobody: what a command or a main program would send.
  template <class T>
  void tell(const Address& to, const T& message) {
    send({}, to, payloadOf(message));
  }
  template <class T>
  Question ask(const Address& to, const T& message, Duration timeout = kNoTimeout) {
    return ask({}, to, payloadOf(message), timeout);
  }

  /// Runs all nodes until nothing is ready. Time stands still.
  void run();
  /// Moves time, and runs what becomes ready at each point.
  void advance(Duration by);
  /// Moves time until it holds, at most that far; whether it does.
  bool runUntil(const std::function<bool()>& holds, Duration within);

  /// The node under test dies: memory, timers, and writes that wait are gone, and actors with an open ask to it or
  /// from it are told HostUnreachable.
  void crash();
  /// It comes back with the actors that were started on it, in that order; stores have what was written.
  void restart();

  /// Of the actor at that path of the node under test; "none" if there is none.
  std::string phase(const std::string& path) const;
  void expectPhase(const std::string& path, const std::string& wanted, Duration within = kPatience,
                   std::source_location at = std::source_location::current());

  /// Failures show messages of these types in full. Types that are expected or that a service's machine has are known.
  template <class... T>
  void knows() {
    (printers_.insert_or_assign(typeOfMessage<T>(), textOf<T>), ...);
  }
  /// For failures: a message, and all rows of the node under test.
  std::string text(const Payload& payload) const;
  std::string rows() const;
  double seconds(TimePoint when) const;  ///< since the kit was made

 private:
  friend class Probe;
  class Wire;

  template <class... T>
  void knowsAll(std::variant<T...>*) {
    knows<T...>();
  }
  Address add(std::function<Address(Node&)> starter);
  Node& nodeOf(const std::string& name) const;
  Node& begin(const std::string& name);
  void end(std::string name);
  std::shared_ptr<MemoryStore> sharedStore(const std::string& path);
  void send(const Address& from, const Address& to, Payload payload);
  Question ask(const Address& from, const Address& to, Payload payload, Duration timeout);

  const std::string name_;
  std::shared_ptr<VirtualEnvironment> time_;
  const TimePoint began_;
  std::map<PayloadType, Printer> printers_;
  std::map<std::string, std::shared_ptr<MemoryStore>> stores_;
  std::vector<std::shared_ptr<Inbox>> inboxes_;
  std::vector<std::function<Address(Node&)>> starters_;
  std::map<std::string, std::shared_ptr<Wire>> wires_;
  std::map<std::string, std::unique_ptr<Node>> nodes_;
};

}  // namespace troupe::probe
