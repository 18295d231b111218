#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"
#include "storage/index/index_spec.hpp"
#include "storage/operation/memory_budget.hpp"

namespace troupe::bson {
class Collator;
}

namespace troupe::storage {

class OperationContext;

/// For each field of an index, which components of its path held an array: bit i for component i (the last bit also
/// stands for all deeper ones). {a.b: 1} over {a: [{b: 1}]} gives 0b01.
using MultikeyPaths = std::vector<uint64_t>;

/// One key of a document: the key string without RecordId, and the type bits that restore exact types (empty when they
/// are all zero).
struct IndexKey {
  std::string key;
  std::string typeBits;
};

/// All keys of one document for one index, sorted by key, without repetitions.
struct KeySet {
  std::vector<IndexKey> keys;
  bool multikey = false;  ///< an array was met (even if it gave one key or none)
  MultikeyPaths paths;    ///< filled when multikey
  MemoryCharge memory;    ///< of the keys, if they were made with a budget

  void clear() {
    keys.clear();
    multikey = false;
    paths.clear();
    memory = {};
  }
};

/// What the keys of one document may take in one index: each element of an array makes a key, with a copy of all other
/// fields of the index.
struct KeyLimits {
  static constexpr size_t kUnlimited = std::numeric_limits<size_t>::max() / 2;
  size_t keys = 100'000;            ///< distinct ones
  size_t bytes = size_t{64} << 20;  ///< of all keys that are made, repetitions included, since each costs its work
  OperationContext* operation = nullptr;  ///< its memory budget is charged for the keys; null: they are not counted

  /// For keys to be removed, checked or repaired, and for writes that another node has decided about.
  static KeyLimits none() { return {.keys = kUnlimited, .bytes = kUnlimited, .operation = nullptr}; }
};

/// Derives index keys from documents: compound, dotted paths through arrays, sparse (no key when all fields are
/// missing), missing as null, an empty array as undefined, hashed. Immutable, thread-safe.
class KeyGenerator {
 public:
  /// The collator (null: bytewise) must outlive the generator.
  KeyGenerator(const IndexSpec& spec, const bson::Collator* collator);

  /// Errors: of documents that the index cannot hold, CannotIndexParallelArrays (171), 16766 (an array in a hashed
  /// field) and 16746 (a numeric path that could name an element of an array as well as a field); by the limits,
  /// CannotBuildIndexKeys (201) and ExceededMemoryLimit.
  Status generate(bson::View document, KeySet& out, const KeyLimits& limits) const;
  /// Whether `generate` has failed because of the document itself, whatever the limits: it has no keys in this index.
  static bool isUnindexable(const Status& failure);
  /// All keys, whatever they take.
  Status generate(bson::View document, KeySet& out) const { return generate(document, out, KeyLimits::none()); }
  /// The key pattern's fields with values of one key, for {keyValue}: {a: 1, b: "x"}.
  bson::Document describe(const IndexKey& key) const;

 private:
  struct Walk;
  std::string lastComponent(size_t field, size_t next) const;
  Status tooMany(const std::string& what) const;

  std::string name_;
  std::vector<std::vector<std::string>> paths_;
  std::vector<std::string> fields_;
  std::vector<bool> hashed_;
  uint32_t descending_ = 0;
  bool sparse_ = false;
  bson::Document keyPattern_;
  const bson::Collator* collator_ = nullptr;
};

}  // namespace troupe::storage
