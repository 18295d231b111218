#pragma once
#include <memory>
#include <utility>

#include "actors/machines/document_store.hpp"
#include "messaging/description/bson_archive.hpp"

namespace troupe::machines {

/// The state documents of one machine type, as values: the interface through which hosts write. Durability, threads and
/// errors are those of DocumentStore. Arguments need not outlive the call.
template <Documented D>
class StateStore {
 public:
  virtual ~StateStore() = default;
  /// Adds the document, or replaces the one of its `_id`; `unknown` are the fields that a newer version had written.
  virtual Task<Status> put(const D& document, const UnknownFields& unknown, Durability durability) = 0;
  /// Removes the document with the `_id` of `key`.
  virtual Task<Status> remove(bson::Document key, Durability durability) = 0;
  /// As that of DocumentStore.
  virtual Task<Status> settle() = 0;
};

/// Each value as one document of a DocumentStore.
template <Documented D>
class DescribedStore final : public StateStore<D> {
 public:
  explicit DescribedStore(std::shared_ptr<DocumentStore> documents) : documents_(std::move(documents)) {}

  Task<Status> put(const D& document, const UnknownFields& unknown, Durability durability) override {
    return documents_->put(toBson(document, unknown), durability);
  }
  Task<Status> remove(bson::Document key, Durability durability) override {
    return documents_->remove(std::move(key), durability);
  }
  Task<Status> settle() override { return documents_->settle(); }

 private:
  std::shared_ptr<DocumentStore> documents_;
};

}  // namespace troupe::machines
