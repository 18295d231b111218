#include "messaging/envelope/payload.hpp"

#include <cxxabi.h>
#include <kj/exception.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

namespace troupe {

namespace {

constexpr size_t kScratchWords = 1024;
const std::shared_ptr<const std::string> kNoAttachment;

struct Scratch {
  alignas(16) capnp::word words[kScratchWords] = {};
  bool lent = false;
};
thread_local Scratch scratch;

/// Number of words of the segment table that precedes `segments` segments.
size_t tableWords(size_t segments) { return segments / 2 + 1; }

}  // namespace

const char* detail::payloadTypeName(const std::type_info& type) {
  static std::mutex mutex;
  static std::unordered_map<std::string, std::unique_ptr<std::string>> names;
  std::lock_guard lock(mutex);
  auto& name = names[type.name()];
  if (!name) {
    int status = 0;
    std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                     &std::free);
    std::string full = status == 0 ? text.get() : type.name();
    const auto colon = full.rfind("::", full.find('<'));
    name = std::make_unique<std::string>(colon == std::string::npos ? full : full.substr(colon + 2));
  }
  return name->c_str();
}

namespace {
/// Names of message types by identifier: an open table that only grows. A type that finds no room has no name.
constexpr size_t kRememberedTypes = 2048;
std::atomic<const PayloadTypeInfo*> rememberedTypes[kRememberedTypes];

/// Calls `look` with the slots where the type may be, until it returns true.
template <class F>
void probe(PayloadType id, F&& look) {
  for (size_t i = 0; i < kRememberedTypes; ++i)
    if (look(rememberedTypes[(id + i) % kRememberedTypes])) return;
}

const char* rememberedName(PayloadType id) {
  const char* name = "unknown";
  probe(id, [&](auto& slot) {
    const auto* info = slot.load(std::memory_order_acquire);
    if (info && info->id == id) name = info->name;
    return !info || info->id == id;
  });
  return name;
}
}  // namespace

void detail::rememberPayloadType(const PayloadTypeInfo& info) {
  const auto* kept = new PayloadTypeInfo(info);  // never destroyed: one a type
  bool placed = false;
  probe(info.id, [&](auto& slot) {
    const PayloadTypeInfo* found = nullptr;
    placed = slot.compare_exchange_strong(found, kept, std::memory_order_acq_rel);
    return placed || found->id == info.id;
  });
  if (!placed) delete kept;
}

ScratchSegment::ScratchSegment() {
  if (scratch.lent) return;
  scratch.lent = true;
  words_ = kj::arrayPtr(scratch.words, kScratchWords);
}

// The message builder has zeroed what it used of it.
ScratchSegment::~ScratchSegment() {
  if (words_.size() > 0) scratch.lent = false;
}

Payload::Block* PayloadFactory::allocate(size_t bodyBytes) {
  void* memory = ::operator new(Payload::kBodyOffset + bodyBytes);
  return new (memory) Payload::Block;
}

void Payload::free(Block* block) {
  if (block->destroy) block->destroy(reinterpret_cast<char*>(block) + kBodyOffset);
  block->~Block();
  ::operator delete(block);
}

Payload PayloadFactory::finish(capnp::MessageBuilder& message, const PayloadTypeInfo& type,
                               std::shared_ptr<const std::string> attachment) {
  const auto segments = message.getSegmentsForOutput();
  size_t total = tableWords(segments.size());
  for (const auto& segment : segments) total += segment.size();
  auto* block = allocate(total * sizeof(capnp::word));
  block->type = type.id;
  block->name = type.name;
  block->wordCount = static_cast<uint32_t>(total);
  block->attachment = std::move(attachment);
  auto* out = reinterpret_cast<capnp::word*>(reinterpret_cast<char*>(block) + Payload::kBodyOffset);
  auto* table = reinterpret_cast<uint32_t*>(out);
  std::memset(table, 0, tableWords(segments.size()) * sizeof(capnp::word));
  table[0] = static_cast<uint32_t>(segments.size() - 1);
  out += tableWords(segments.size());
  for (size_t i = 0; i < segments.size(); ++i) {
    table[i + 1] = static_cast<uint32_t>(segments[i].size());
    std::memcpy(out, segments[i].begin(), segments[i].size() * sizeof(capnp::word));
    out += segments[i].size();
  }
  return Payload(block);
}

Payload Payload::fromWords(PayloadType type, std::string_view bytes, std::shared_ptr<const std::string> attachment,
                           const char* typeName) {
  const size_t words = bytes.size() / sizeof(capnp::word);
  auto* block = PayloadFactory::allocate(words * sizeof(capnp::word));
  block->type = type;
  block->name = typeName ? typeName : rememberedName(type);
  block->wordCount = static_cast<uint32_t>(words);
  block->attachment = std::move(attachment);
  std::memcpy(reinterpret_cast<char*>(block) + kBodyOffset, bytes.data(), words * sizeof(capnp::word));
  return Payload(block);
}

kj::ArrayPtr<const capnp::word> Payload::words() const {
  if (!block_ || block_->destroy) return nullptr;
  return kj::arrayPtr(static_cast<const capnp::word*>(localValue()), block_->wordCount);
}

const std::shared_ptr<const std::string>& Payload::attachment() const {
  return block_ ? block_->attachment : kNoAttachment;
}

std::string Payload::summary(size_t limit) const {
  std::string text = typeName();
  if (!block_ || block_->destroy) return text;
  text += " of " + std::to_string(block_->wordCount * sizeof(capnp::word)) + " bytes";
  if (block_->attachment) text += " with " + std::to_string(block_->attachment->size()) + " bytes attached";
  if (text.size() > limit) text.resize(limit);
  return text;
}

}  // namespace troupe
