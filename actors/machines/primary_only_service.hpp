#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "actors/machines/machine_host.hpp"
#include "actors/machines/service_base.hpp"

namespace troupe::machines {

/// A named set of machines of one type, one for each document of a store, on the primary only (the mechanism under DDL,
/// splits, merges, resharding, migration and commit coordination). Spawn it under a supervisor:
///   permanent<PrimaryOnlyService<LeaseHandoff>>("leases", store, hostOptions)
///
/// Start an instance with StartMachine<M>: it joins the one that runs for the same request, and is refused with
/// ConflictingOperationInProgress where it gets into the way of another. Optional members of M say more:
///   static bool sameRequest(const Document& running, const Document& wanted);  // default: same but for the phase
///   static bool conflicts(const Document& running, const Document& wanted);    // of different ids; default: never
///   static auto idOf(const SomeEvent&);           // the `id` of the document whose instance takes such messages
///   static std::optional<Document> open(const SomeEvent&);  // the document of a new instance that such a message
///   starts
/// Messages to instances are sent to the service's path.
template <MachineType M>
class PrimaryOnlyService final : public PrimaryOnlyServiceBase {
 public:
  using Document = typename M::Document;
  using Event = typename M::Event;

  PrimaryOnlyService(std::shared_ptr<DocumentStore> store, HostOptions<M> host, ServiceLimits limits = {})
      : PrimaryOnlyServiceBase(std::move(store), limits), host_(std::move(host)) {}

  Behaviour behaviour() override {
    Behaviour handlers = PrimaryOnlyServiceBase::behaviour();
    handlers.add(on<StartMachine<M>>([this](const StartMachine<M>&, Context& context) {
      whenServing(std::move(context), [this](Context asked) { open(std::move(asked)); });
    }));
    [&]<size_t... I>(std::index_sequence<I...>) { (addRoute<I>(handlers), ...); }
    (std::make_index_sequence<std::variant_size_v<Event>>());
    return handlers;
  }

 protected:
  StatusWith<std::unique_ptr<Actor>> makeHost(const std::string& name, bson::View document, bool isNew) override {
    TROUPE_ASSIGN(auto loaded, loadBson<Document>(document));
    requests_.insert_or_assign(name, loaded.value);
    return std::unique_ptr<Actor>(std::make_unique<MachineHost<M>>(store(), std::move(loaded), isNew, host_));
  }
  void forget(const std::string& name) override { requests_.erase(name); }
  const char* machineName() const override { return M::kName; }

 private:
  template <size_t I>
  void addRoute(Behaviour& handlers) {
    using E = std::variant_alternative_t<I, Event>;
    if constexpr (requires(const E& event) { M::idOf(event); }) {
      auto route = [this](Context& context) {
        whenServing(std::move(context), [this](Context arrived) { deliver<E>(std::move(arrived)); });
      };
      handlers.add({payloadTypeOf<E>(), std::move(route)});
    }
  }

  template <class E>
  void deliver(Context context) {
    auto event = fromMessage<std::variant<E>>(context.payload());
    if (!event.isOK()) return context.fail(event.status());
    const E& message = std::get<E>(**event);
    Document wanted{};
    wanted.id = M::idOf(message);
    std::string name = instanceName<M>(wanted);
    if constexpr (requires { M::open(message); }) {
      if (!knows(name)) {
        if (std::optional<Document> opened = M::open(message)) {
          if (const auto begun = begin(name, toBson(*opened)); !begun.isOK()) return context.fail(begun.status());
        }
      }
    }
    pass(std::move(context), name);
  }

  void open(Context context) {
    const Document& wanted = context.payload().template local<StartMachine<M>>().document;
    const std::string name = instanceName<M>(wanted);
    if (const auto running = requests_.find(name); running != requests_.end() && knows(name)) {
      if (!same(running->second, wanted)) return context.fail(conflict(name));
      return pass(std::move(context), name);
    }
    if constexpr (requires { M::conflicts(wanted, wanted); }) {
      for (const auto& [other, document] : requests_)
        if (M::conflicts(document, wanted)) return context.fail(conflict(other));
    }
    if (const auto begun = begin(name, toBson(wanted)); !begun.isOK()) return context.fail(begun.status());
    pass(std::move(context), name);
  }

  void pass(Context context, const std::string& name) {
    if (const Address host = hostOf(name)) return context.forward(host);
    if (knows(name))
      return context.fail(
          {ErrorCode::kConflictingOperationInProgress,
           std::string(M::kName) + " '" + name + "' is set aside or being built again; see the actor tree"});
    context.fail({ErrorCode::kNoSuchKey, std::string("no ") + M::kName + " '" + name + "' is running"});
  }

  static bool same(const Document& running, const Document& wanted) {
    if constexpr (requires { M::sameRequest(running, wanted); }) {
      return M::sameRequest(running, wanted);
    } else {
      Document moved = wanted;
      if constexpr (kPhaseIsPersisted<M>) moved.phase = running.phase;
      return sameValue(running, moved);
    }
  }
  static Status conflict(const std::string& name) {
    return {ErrorCode::kConflictingOperationInProgress,
            std::string("another ") + M::kName + " is in progress: '" + name + "'"};
  }

  HostOptions<M> host_;
  std::map<std::string, Document> requests_;  ///< what each instance was started with, or found as
};

}  // namespace troupe::machines
