#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::storage {

/// The options of `create`, as stored in the catalog. Value type. Documents that belong to the query language
/// (validator, pipeline) are kept as given: the command checks them before.
struct CollectionOptions {
  std::optional<bson::Uuid> uuid;  ///< absent for views
  bool capped = false;
  int64_t cappedSize = 0;  ///< bytes: roundedCappedSize
  int64_t cappedMax = 0;   ///< documents; 0: no limit
  std::optional<bson::Document> validator;
  std::string validationLevel;             ///< "off", "moderate", "strict"; empty: strict
  std::string validationAction;            ///< "error", "warn"; empty: error
  bson::Document collation;                ///< empty: simple
  std::string viewOn;                      ///< not empty: a view
  std::optional<bson::Document> pipeline;  ///< array of stages as a document of indexes
  std::optional<bson::Document> timeseries;
  std::optional<bson::Document> clusteredIndex;
  std::optional<int64_t> expireAfterSeconds;
  bool recordPreImages = false;  ///< changeStreamPreAndPostImages.enabled
  std::optional<bson::Document> storageEngine;
  std::optional<bson::Document> indexOptionDefaults;
  bool temp = false;

  bool isView() const { return !viewOn.empty(); }
  /// As shown by listCollections: without the uuid unless `withUuid` (the catalog keeps it).
  bson::Document toDocument(bool withUuid) const;
  /// Whether a repeated `create` with `other` asks for what exists (uuid aside).
  bool sameAs(const CollectionOptions& other) const;
};

/// The size of a capped collection for which `bytes`, from 1 on, were asked: the next multiple of 256.
int64_t roundedCappedSize(int64_t bytes);

/// `changeStreamPreAndPostImages` of `create` and collMod: whether it enables them. Errors: TypeMismatch, UnknownField,
/// MissingRequiredField.
StatusWith<bool> parsePreImages(bson::View images, std::string_view command);

/// Parses the options of a `create` command (fields of the command other than its name and generic arguments) or, with
/// `stored`, a catalog document's options.
/// Errors: InvalidOptions (72: combinations), TypeMismatch (14), BadValue (2), UnknownField (40415).
StatusWith<CollectionOptions> parseCollectionOptions(bson::View options, bool stored = false);

}  // namespace troupe::storage
