#include "storage/index/key_generator.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "messaging/bson/compare.hpp"
#include "messaging/bson/document.hpp"
#include "storage/keys/key_string.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe::storage {
namespace {

using bson::Element;
using bson::Type;
using bson::View;

/// The indexed value of an empty array.
Element undefinedValue() {
  static constexpr char kRaw[] = {static_cast<char>(Type::kUndefined), '\0'};
  return Element(kRaw);
}

bool isArrayIndex(std::string_view component) {
  return !component.empty() && component.size() < 8 && (component == "0" || component[0] != '0') &&
         std::all_of(component.begin(), component.end(), [](char c) { return c >= '0' && c <= '9'; });
}

uint64_t pathBit(size_t component) { return uint64_t{1} << std::min<size_t>(component, 63); }

/// How far one field's path has been followed: either resolved to a value, or stopped at an array.
struct Slot {
  Element value;      ///< the resolved value (absent: missing), or the array where the walk stopped
  uint32_t next = 0;  ///< components of the path consumed
  bool resolved = false;
};
using Slots = std::array<Slot, kMaxIndexFields>;

constexpr auto kHashedArray = ErrorCode(16766);
constexpr auto kAmbiguousPath = ErrorCode(16746);

/// So much of the keys is not charged: most documents have no more.
constexpr size_t kFreeKeys = size_t{64} << 10;

/// Sorts the keys and takes out repetitions, but the first of each.
void sortDistinct(std::vector<IndexKey>& keys) {
  if (keys.size() < 2) return;
  std::stable_sort(keys.begin(), keys.end(), [](const IndexKey& a, const IndexKey& b) { return a.key < b.key; });
  keys.erase(std::unique(keys.begin(), keys.end(), [](const IndexKey& a, const IndexKey& b) { return a.key == b.key; }),
             keys.end());
}

}  // namespace

/// One generation of keys: follows all paths to the first array, multiplies by its elements, and goes on from there.
struct KeyGenerator::Walk {
  const KeyGenerator& self;
  KeySet& out;
  const KeyLimits& limits;
  key_string::Builder builder;
  size_t bytes = 0;            ///< of all keys made so far
  size_t covered = kFreeKeys;  ///< bytes that the charge is enough for

  Walk(const KeyGenerator& generator, KeySet& keys, const KeyLimits& keyLimits)
      : self(generator), out(keys), limits(keyLimits), builder(Ordering(generator.descending_)) {}

  size_t fields() const { return self.paths_.size(); }

  /// Follows one path through documents from `at` until a value, nothing, or an array.
  void follow(size_t field, Slot& slot, View at) {
    const auto& path = self.paths_[field];
    for (;;) {
      const Element e = at[path[slot.next++]];
      slot.value = e;
      if (e.is(Type::kArray)) return;
      if (slot.next == path.size() || !e.is(Type::kDocument)) {
        slot.resolved = true;
        if (slot.next < path.size()) slot.value = Element();
        return;
      }
      at = e.asDocument();
    }
  }

  /// "a.0.b" names one element of an array: it is followed without multiplying. False when it is no such path.
  StatusWith<bool> followIndex(size_t field, Slot& slot) {
    const auto& path = self.paths_[field];
    if (slot.next >= path.size() || !isArrayIndex(path[slot.next])) return false;
    const View array = slot.value.asArray();
    const Element e = array[path[slot.next]];
    if (!e.ok()) return false;
    for (const auto& element : array)
      if (element.is(Type::kDocument) && element.asDocument().has(path[slot.next]))
        return Status(kAmbiguousPath,
                      "Ambiguous field name found in array (do not use numeric field names in embedded elements in "
                      "an array), field: '" +
                          path[slot.next] + "' for array: " + std::string(slot.value.name()));
    ++slot.next;
    slot.value = e;
    if (e.is(Type::kArray)) return true;
    slot.resolved = slot.next == path.size() || !e.is(Type::kDocument);
    if (slot.resolved && slot.next < path.size()) slot.value = Element();
    if (!slot.resolved) follow(field, slot, e.asDocument());
    return true;
  }

  Status expand(Slots& slots) {
    Element array;
    size_t owner = 0;
    for (size_t i = 0; i < fields(); ++i) {
      Slot& slot = slots[i];
      while (!slot.resolved) {
        TROUPE_ASSIGN(const bool followed, followIndex(i, slot));
        if (!followed) break;
      }
      if (slot.resolved) continue;
      if (self.hashed_[i])
        return {kHashedArray,
                "hashed indexes do not currently support array values. Encountered array value for field: " +
                    self.fields_[i]};
      if (!array.ok()) {
        array = slot.value;
        owner = i;
      } else if (array.raw().data() != slot.value.raw().data()) {
        return {ErrorCode::kCannotIndexParallelArrays, "cannot index parallel arrays [" +
                                                           self.lastComponent(i, slot.next) + "] [" +
                                                           self.lastComponent(owner, slots[owner].next) + "]"};
      }
    }
    return array.ok() ? multiply(slots, array) : emit(slots);
  }

  Status multiply(Slots& slots, const Element& array) {
    out.multikey = true;
    out.paths.resize(fields());
    for (size_t i = 0; i < fields(); ++i)
      if (!slots[i].resolved) out.paths[i] |= pathBit(slots[i].next - 1);
    if (array.asArray().empty()) return step(slots, Element());
    for (const auto& element : array.asArray()) TROUPE_TRY(step(slots, element));
    return Status::OK();
  }

  /// Goes on with one element of the array in place of it; an absent one stands for the empty array.
  Status step(const Slots& slots, const Element& element) {
    Slots next;
    std::copy_n(slots.begin(), fields(), next.begin());
    for (size_t i = 0; i < fields(); ++i) {
      Slot& slot = next[i];
      if (slot.resolved) continue;
      if (slot.next == self.paths_[i].size()) {
        slot.value = element.ok() ? element : undefinedValue();
        slot.resolved = true;
      } else if (element.is(Type::kDocument)) {
        follow(i, slot, element.asDocument());
      } else if (element.is(Type::kArray) && isArrayIndex(self.paths_[i][slot.next])) {
        slot.value = element.asArray()[self.paths_[i][slot.next++]];
        slot.resolved =
            !slot.value.is(Type::kArray) && (slot.next == self.paths_[i].size() || !slot.value.is(Type::kDocument));
        if (slot.resolved && slot.next < self.paths_[i].size()) slot.value = Element();
        if (slot.value.is(Type::kDocument) && !slot.resolved) follow(i, slot, slot.value.asDocument());
      } else {
        slot.value = Element();  // arrays directly within arrays are not entered
        slot.resolved = true;
      }
    }
    return expand(next);
  }

  Status emit(const Slots& slots) {
    if (self.sparse_ && std::none_of(slots.begin(), slots.begin() + static_cast<long>(fields()),
                                     [](const Slot& slot) { return slot.value.ok(); }))
      return Status::OK();
    builder.reset();
    for (size_t i = 0; i < fields(); ++i) {
      if (self.hashed_[i]) {
        const bson::Value hash(static_cast<int64_t>(bson::hashValue(slots[i].value, self.collator_)));
        builder.append(hash.element());
      } else {
        builder.append(slots[i].value, self.collator_);
      }
      // After each field: one may hold what others hold as well, {"a": 1, "a.b": 1}.
      if (bytes + builder.size() > limits.bytes)
        return self.tooMany("keys of more than " + std::to_string(limits.bytes) + " bytes");
    }
    bytes += builder.bytes().size() + builder.typeBits().size();
    if (!out.keys.empty() && out.keys.back().key == builder.bytes()) return Status::OK();
    TROUPE_TRY(charge());
    out.keys.push_back({std::string(builder.bytes()), std::string(builder.typeBits())});
    // Repetitions do not count, but they are not looked for more often than the keys have doubled.
    return out.keys.size() > 2 * limits.keys ? checkDistinct() : Status::OK();
  }

  Status checkDistinct() {
    sortDistinct(out.keys);
    if (out.keys.size() <= limits.keys) return Status::OK();
    return self.tooMany("more than " + std::to_string(limits.keys) + " keys");
  }

  /// For the keys with the next one, before it is copied.
  Status charge() {
    const size_t held = bytes + (out.keys.size() + 1) * sizeof(IndexKey);
    if (held <= covered || !limits.operation) return Status::OK();
    covered = held + held / 2;
    return out.memory.resize(&limits.operation->memory(), static_cast<int64_t>(covered));
  }
};

KeyGenerator::KeyGenerator(const IndexSpec& spec, const bson::Collator* collator)
    : name_(spec.name),
      descending_(spec.descendingMask()),
      sparse_(spec.sparse),
      keyPattern_(spec.key),
      collator_(collator) {
  for (const auto& field : spec.fields) {
    std::vector<std::string> components;
    for (size_t from = 0; from <= field.path.size();) {
      const size_t dot = std::min(field.path.find('.', from), field.path.size());
      components.push_back(field.path.substr(from, dot - from));
      from = dot + 1;
    }
    paths_.push_back(std::move(components));
    fields_.push_back(field.path);
  }
  for (const auto& e : spec.key.view()) hashed_.push_back(e.is(Type::kString));
}

std::string KeyGenerator::lastComponent(size_t field, size_t next) const { return paths_[field][next - 1]; }

Status KeyGenerator::tooMany(const std::string& what) const {
  return {ErrorCode::kCannotBuildIndexKeys,
          "a document has " + what + " for the index " + name_ +
              ", which takes no more from one document: divide the document, shorten its arrays, or take the arrays' "
              "field or the large fields out of the index"};
}

Status KeyGenerator::generate(View document, KeySet& out, const KeyLimits& limits) const {
  out.clear();
  Walk walk(*this, out, limits);
  Slots slots;
  for (size_t i = 0; i < paths_.size(); ++i) walk.follow(i, slots[i], document);
  TROUPE_TRY(walk.expand(slots));
  return walk.checkDistinct();
}

bool KeyGenerator::isUnindexable(const Status& failure) {
  return failure == ErrorCode::kCannotIndexParallelArrays || failure == kHashedArray || failure == kAmbiguousPath;
}

bson::Document KeyGenerator::describe(const IndexKey& key) const {
  auto decoded = key_string::decodeWithNames(key.key, key.typeBits, keyPattern_);
  if (!decoded.isOK()) return {};
  if (!collator_) return std::move(*decoded);
  static constexpr char kHex[] = "0123456789abcdef";
  bson::Builder out;
  for (const auto& e : decoded->view()) {
    if (!e.is(Type::kString)) {
      out.append(e);
      continue;
    }
    std::string text = "CollationKey(0x";
    for (const char c : e.asString()) {
      text += kHex[static_cast<uint8_t>(c) >> 4];
      text += kHex[c & 15];
    }
    out.append(e.name(), text + ")");
  }
  return out.finish();
}

}  // namespace troupe::storage
