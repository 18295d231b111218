#pragma once
#include <capnp/message.h>
#include <capnp/serialize.h>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "messaging/errors/status.hpp"

namespace troupe {

/// A struct of a Cap'n Proto schema.
template <class T>
concept SchemaType = requires {
  typename T::Reader;
  typename T::Builder;
  typename T::_capnpPrivate;
};

/// Identifies what a payload is: the Cap'n Proto type id, or an address unique to a local type. Never 0 for a type.
using PayloadType = uint64_t;

/// The name of a payload type in logs and in the tree. `name` is static text.
struct PayloadTypeInfo {
  PayloadType id;
  const char* name;
};

namespace detail {
/// "troupe::schema::Ping" -> "Ping", made once per type and kept.
const char* payloadTypeName(const std::type_info& type);
/// Keeps the name of a schema type, for payloads of it that come from other nodes.
void rememberPayloadType(const PayloadTypeInfo& info);
template <class T>
const PayloadTypeInfo& payloadTypeInfo() {
  static const PayloadTypeInfo info = [] {
    PayloadTypeInfo i{};
    i.name = payloadTypeName(typeid(T));
    if constexpr (SchemaType<T>) i.id = T::_capnpPrivate::typeId;
    else i.id = reinterpret_cast<uint64_t>(i.name);  // unique in this process; schema ids have the top bit set
    if constexpr (SchemaType<T>) rememberPayloadType(i);
    return i;
  }();
  return info;
}
}  // namespace detail

template <class T>
PayloadType payloadType() {
  if constexpr (SchemaType<T>) return T::_capnpPrivate::typeId;
  else return detail::payloadTypeInfo<T>().id;
}

template <SchemaType T>
class Reading;

/// The content of a message: an immutable, reference-counted block, passed by reference within a node and never copied.
/// It holds a Cap'n Proto message in flat form (`build`), or any C++ value that must not leave the process
/// (`local`: sockets, sessions, streams). The default is empty, of type 0. Copies may cross threads.
class Payload {
 public:
  Payload() = default;
  Payload(const Payload& other) : block_(other.block_) { acquire(); }
  Payload(Payload&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Payload& operator=(Payload other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Payload() { release(); }

  /// Words that came from elsewhere; they are copied. Nothing is trusted: reading throws kj::Exception on damage,
  /// which a handler's caller turns into an answered error. `typeName` must be static text or null, which stands for
  /// the name of the type if this process has handlers for it or has built one.
  static Payload fromWords(PayloadType type, std::string_view bytes, std::shared_ptr<const std::string> attachment,
                           const char* typeName = nullptr);

  explicit operator bool() const { return block_ != nullptr; }
  PayloadType type() const { return block_ ? block_->type : 0; }
  /// Static text, for logs and the tree: "Ping", or "unknown" for words of an unknown type.
  const char* typeName() const { return block_ ? block_->name : "nothing"; }
  template <class T>
  bool is() const {
    return type() == payloadType<T>();
  }
  /// True if the payload can leave the process.
  bool isSerializable() const { return !block_ || !block_->destroy; }
  /// The flat Cap'n Proto message, borrowed; empty for a local value.
  kj::ArrayPtr<const capnp::word> words() const;
  /// Bytes that ride along by reference, or null.
  const std::shared_ptr<const std::string>& attachment() const;

  /// Opens the message for reading, on the caller's stack, with limits sized from the message:
  ///   auto ping = payload.read<schema::Ping>();  use(ping->getNumber());
  /// The result borrows from this payload. `is<T>()` must hold.
  template <SchemaType T>
  Reading<T> read() const;
  /// The value of a local payload, borrowed. `is<T>()` must hold.
  template <class T>
  const T& local() const {
    return *static_cast<const T*>(localValue());
  }
  /// The value of a local payload, for a receiver that alone owns the message and takes what is inside.
  template <class T>
  T& takeLocal() {
    return *static_cast<T*>(const_cast<void*>(localValue()));
  }

  /// A short text for logs: the type's name and the sizes, at most `limit` bytes.
  std::string summary(size_t limit = 200) const;

 private:
  friend class PayloadFactory;
  struct Block {
    std::atomic<uint32_t> references{1};
    uint32_t wordCount = 0;
    PayloadType type = 0;
    const char* name = nullptr;
    void (*destroy)(void*) = nullptr;  ///< of the local value; null for words
    std::shared_ptr<const std::string> attachment;
    // words or the local value follow, aligned to 16 bytes
  };
  static constexpr size_t kBodyOffset = (sizeof(Block) + 15) / 16 * 16;
  const void* localValue() const { return reinterpret_cast<const char*>(block_) + kBodyOffset; }
  void acquire() const {
    if (block_) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  void release() {
    if (block_ && block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) free(block_);
  }
  static void free(Block* block);
  explicit Payload(Block* block) : block_(block) {}
  Block* block_ = nullptr;
};

/// A Cap'n Proto message opened for reading; lives on the reader's stack. Not movable; borrows from the payload.
template <SchemaType T>
class Reading {
 public:
  explicit Reading(const Payload& payload)
      : message_(payload.words(), options(payload.words().size())), root_(message_.template getRoot<T>()) {}
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  typename T::Reader* operator->() { return &root_; }
  typename T::Reader operator*() const { return root_; }

 private:
  /// Each word may be visited 32 times: generous for honest readers, a bound for amplified ones.
  static capnp::ReaderOptions options(size_t words) { return {words * 32 + 1024, 64}; }
  capnp::FlatArrayMessageReader message_;
  typename T::Reader root_;
};

template <SchemaType T>
Reading<T> Payload::read() const {
  return Reading<T>(*this);
}

/// A payload known to hold a T; what coroutine handlers take by value. `read()` for schema types, `*` for local ones.
template <class T>
class Received {
 public:
  explicit Received(Payload payload) : payload_(std::move(payload)) {}
  const Payload& payload() const { return payload_; }
  auto read() const requires SchemaType<T> { return payload_.template read<T>(); }
  const T& operator*() const requires(!SchemaType<T>) { return payload_.template local<T>(); }
  const T* operator->() const requires(!SchemaType<T>) { return &payload_.template local<T>(); }
  T& take() requires(!SchemaType<T>) { return payload_.template takeLocal<T>(); }

 private:
  Payload payload_;
};

/// Makes payloads; use `build` and `local` below.
class PayloadFactory {
 public:
  /// Copies what was built into one block in flat form.
  static Payload finish(capnp::MessageBuilder& message, const PayloadTypeInfo& type,
                        std::shared_ptr<const std::string> attachment);
  template <class T>
  static Payload local(T value) {
    static_assert(alignof(T) <= 16);
    auto* block = allocate(sizeof(T));
    const auto& info = detail::payloadTypeInfo<T>();
    block->type = info.id;
    block->name = info.name;
    block->destroy = [](void* p) { static_cast<T*>(p)->~T(); };
    new (reinterpret_cast<char*>(block) + Payload::kBodyOffset) T(std::move(value));
    return Payload(block);
  }

 private:
  static Payload::Block* allocate(size_t bodyBytes);
  friend class Payload;
};

/// A zeroed first segment that small messages are built in without allocating; one per thread, lent to one builder.
class ScratchSegment {
 public:
  ScratchSegment();
  ~ScratchSegment();
  ScratchSegment(const ScratchSegment&) = delete;
  kj::ArrayPtr<capnp::word> words() const { return words_; }

 private:
  kj::ArrayPtr<capnp::word> words_;
};

/// A payload of schema type T, filled by `fill(T::Builder)`:
///   build<schema::Ping>([&](auto ping) { ping.setNumber(7); })
/// `attachment` rides along by reference; it is not copied on this node.
template <SchemaType T, class Fill>
requires std::invocable<Fill, typename T::Builder> Payload
build(Fill&& fill, std::shared_ptr<const std::string> attachment = nullptr) {
  ScratchSegment scratch;
  if (scratch.words().size() == 0) {
    capnp::MallocMessageBuilder message;
    fill(message.initRoot<T>());
    return PayloadFactory::finish(message, detail::payloadTypeInfo<T>(), std::move(attachment));
  }
  capnp::MallocMessageBuilder message(scratch.words());
  fill(message.initRoot<T>());
  return PayloadFactory::finish(message, detail::payloadTypeInfo<T>(), std::move(attachment));
}
/// A payload of schema type T with all defaults.
template <SchemaType T>
Payload build() {
  return build<T>([](typename T::Builder) {});
}

/// A payload holding a C++ value that never leaves this process.
template <class T>
Payload local(T value) {
  return PayloadFactory::local<T>(std::move(value));
}

}  // namespace troupe
