#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"
#include "storage/index/index_spec.hpp"

namespace troupe::bson {
class Collator;
}

namespace troupe::storage {

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

  void clear() {
    keys.clear();
    multikey = false;
    paths.clear();
  }
};

/// Derives index keys from documents: compound, dotted paths through arrays, sparse (no key when all fields are
/// missing), missing as null, an empty array as undefined, hashed. Immutable, thread-safe.
class KeyGenerator {
 public:
  /// The collator (null: bytewise) must outlive the generator.
  KeyGenerator(const IndexSpec& spec, const bson::Collator* collator);

  /// Errors: CannotIndexParallelArrays (171), 16766 (an array in a hashed field), 16746 (a numeric path that could name
  /// an element of an array as well as a field).
  Status generate(bson::View document, KeySet& out) const;
  /// The key pattern's fields with values of one key, for {keyValue}: {a: 1, b: "x"}.
  bson::Document describe(const IndexKey& key) const;

 private:
  struct Walk;
  std::string lastComponent(size_t field, size_t next) const;

  std::vector<std::vector<std::string>> paths_;
  std::vector<std::string> fields_;
  std::vector<bool> hashed_;
  uint32_t descending_ = 0;
  bool sparse_ = false;
  bson::Document keyPattern_;
  const bson::Collator* collator_ = nullptr;
};

}  // namespace troupe::storage
