#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace troupe::storage {

/// Kinds of lockable resources, in the order in which they are acquired (LCK-001). Mutex resources stand outside of the
/// hierarchy: they may be acquired at any time, but are last in the order that rules out deadlocks.
enum class ResourceType : uint8_t {
  kMultiDocumentBarrier,  ///< between transactions of several documents and batches that must not see half of one
  kStateTransition,       ///< held by all work that depends on the node's role; exclusively while the role changes
  kGlobal,                ///< held by all work on storage; exclusively by shutdown and rollback to a stable time
  kTenant,
  kDatabase,
  kCollection,
  kMutex,
};

inline constexpr size_t kResourceTypes = 7;
/// The first types are single resources without a name.
inline constexpr size_t kGlobalResources = 3;

constexpr bool isGlobalResource(ResourceType type) { return static_cast<size_t>(type) < kGlobalResources; }

/// The way down to a collection (LCK-001): a lock on one of these is acquired below those before it, which are held in
/// the intent mode that announces it. HeldLock goes it; Locker demands it, but for the state transition, which work
/// that a node does in every role leaves out.
inline constexpr std::array kLockPath{ResourceType::kStateTransition, ResourceType::kGlobal, ResourceType::kDatabase,
                                      ResourceType::kCollection};

/// As serverStatus.locks and currentOp.locks name the type.
constexpr std::string_view nameOf(ResourceType type) {
  constexpr std::array<std::string_view, kResourceTypes> names{"MultiDocumentTransactionsBarrier",
                                                               "ReplicationStateTransition",
                                                               "Global",
                                                               "Tenant",
                                                               "Database",
                                                               "Collection",
                                                               "Mutex"};
  return names[static_cast<size_t>(type)];
}

/// A lockable resource: its type and exact name. Two resources are the same only when both are equal. Refers to the
/// name it was made from, which has to outlive it; a cheap value.
class ResourceId {
 public:
  static constexpr ResourceId multiDocumentBarrier() { return ResourceId(ResourceType::kMultiDocumentBarrier); }
  static constexpr ResourceId stateTransition() { return ResourceId(ResourceType::kStateTransition); }
  static constexpr ResourceId global() { return ResourceId(ResourceType::kGlobal); }
  static ResourceId tenant(std::string_view tenant) { return {ResourceType::kTenant, tenant}; }
  static ResourceId database(std::string_view db) { return {ResourceType::kDatabase, db}; }
  /// By its full name, "db.collection".
  static ResourceId collection(std::string_view ns) { return {ResourceType::kCollection, ns}; }
  static ResourceId mutex(std::string_view label) { return {ResourceType::kMutex, label}; }
  /// The one of that type on the way to a database or collection of the name.
  static ResourceId onPathTo(std::string_view name, ResourceType type) {
    return of(type, type == ResourceType::kDatabase ? name.substr(0, name.find('.')) : name);
  }
  /// Of any type; a global resource ignores the name.
  static ResourceId of(ResourceType type, std::string_view name) {
    return isGlobalResource(type) ? ResourceId(type) : ResourceId(type, name);
  }

  ResourceType type() const { return type_; }
  std::string_view name() const { return name_; }
  size_t hash() const { return hash_; }

  /// The order in which several resources are acquired without danger of deadlock: by type, then by name.
  friend bool operator<(const ResourceId& a, const ResourceId& b) {
    return a.type_ != b.type_ ? a.type_ < b.type_ : a.name_ < b.name_;
  }
  friend bool operator==(const ResourceId& a, const ResourceId& b) {
    return a.hash_ == b.hash_ && a.type_ == b.type_ && a.name_ == b.name_;
  }

 private:
  constexpr explicit ResourceId(ResourceType type) : type_(type), hash_(static_cast<size_t>(type)) {}
  ResourceId(ResourceType type, std::string_view name)
      : type_(type),
        name_(name),
        hash_(std::hash<std::string_view>{}(name)*kResourceTypes + static_cast<size_t>(type)) {}

  ResourceType type_;
  std::string_view name_;
  size_t hash_;
};

/// A resource that owns its name, for what outlives the operation's texts.
struct ResourceKey {
  ResourceKey(const ResourceId& id) : type(id.type()), name(id.name()) {}  // NOLINT: implicit by design
  ResourceId id() const { return ResourceId::of(type, name); }

  ResourceType type;
  std::string name;
};

}  // namespace troupe::storage
