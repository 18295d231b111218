#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {

/// The name of an actor: its node and its path there. Names are what actors keep of each other; what stands behind
/// a name may be restarted at any time. A value of one pointer to immutable text: copies are cheap and may cross
/// threads. The default is nobody. A path has the form "/a/b".
class Address {
 public:
  Address() = default;
  Address(std::string_view node, std::string_view path);
  Address(const Address& other) : name_(other.name_) { acquire(); }
  Address(Address&& other) noexcept : name_(std::exchange(other.name_, nullptr)) {}
  Address& operator=(Address other) noexcept {
    std::swap(name_, other.name_);
    return *this;
  }
  ~Address() { release(); }

  explicit operator bool() const { return name_ != nullptr; }
  const std::string& node() const;
  const std::string& path() const;
  /// "node/path" without a doubled slash, for logs; "nobody" for the default.
  std::string toString() const;
  size_t hash() const noexcept { return name_ ? name_->hash : 0; }
  /// The address of an actor below this one.
  Address child(std::string_view name) const;

  friend bool operator==(const Address& a, const Address& b) {
    return a.name_ == b.name_ || (a.hash() == b.hash() && &a.node() == &b.node() && a.path() == b.path());
  }

 private:
  struct Name {
    std::atomic<uint32_t> references{1};
    size_t hash;
    const std::string* node;  ///< shared by all addresses of the node, kept for ever: a process meets few nodes
    std::string path;
  };
  void acquire() const {
    if (name_) name_->references.fetch_add(1, std::memory_order_relaxed);
  }
  void release() {
    if (name_ && name_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete name_;
  }
  Name* name_ = nullptr;
};

}  // namespace troupe

template <>
struct std::hash<troupe::Address> {
  size_t operator()(const troupe::Address& a) const noexcept { return a.hash(); }
};
