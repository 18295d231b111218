#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/query/match/match_expression.hpp"
#include "storage/query/parse_context.hpp"

namespace troupe::query {

/// The pipeline form of an update: from the old document to the new one. Made by the pipeline parser.
using UpdatePipeline = std::function<StatusWith<bson::Document>(bson::View oldDocument)>;
/// Parses the array of stages; `constants` are the update's `c` variables (may be empty).
using UpdatePipelineParser =
    std::function<StatusWith<UpdatePipeline>(bson::View stages, bson::View constants, const ParseContext& context)>;

/// Parses with the aggregation pipeline of this server ($set, $addFields, $unset, $project, $replaceRoot,
/// $replaceWith).
StatusWith<UpdatePipeline> parseUpdatePipeline(bson::View stages, bson::View constants, const ParseContext& context);

/// The circumstances in which an update is applied to one document.
struct UpdateInput {
  bson::View document;          ///< before; for an upsert's insert, what the filter's equalities gave
  int64_t matchedIndex = -1;    ///< MatchDetails::arrayIndex, which the positional `$` stands for
  bool isInsert = false;        ///< an upsert that inserts: $setOnInsert applies, _id may be set
  bool checkForStorage = true;  ///< off when applying the oplog: `$` names and the like were accepted before
  const std::vector<std::string>* immutablePaths = nullptr;  ///< shard key fields; _id always is immutable
};

struct UpdateResult {
  bson::Document document;  ///< after; equal to the input when noop
  bool noop = false;        ///< nothing changed: nModified does not count it
};

/// A parsed update of any of the three forms: immutable, owns its operands, borrows the context's collator and let.
/// `apply` may run on many threads at once, except that of a pipeline, whose stages are used by one thread at a time.
class Update {
 public:
  enum class Form { kReplacement, kOperators, kPipeline };
  virtual ~Update() = default;

  virtual Form form() const = 0;
  /// The new document. Untouched fields are copied as blocks of bytes. _id of a replacement is kept from the old one.
  /// Errors: ImmutableField, PathNotViable, TypeMismatch, BadValue, ConflictingUpdateOperators,
  /// DollarPrefixedFieldName, BSONObjectTooLarge and 17419 (result over 16 MiB), Overflow (nesting).
  virtual StatusWith<UpdateResult> apply(const UpdateInput& input) const = 0;
  /// Paths the update may change (positional and filtered components as `$`), for choosing indexes to maintain; empty
  /// for the forms that may change everything.
  virtual std::vector<std::string> paths() const { return {}; }
  /// Does it use the positional `$`? Then the filter's MatchDetails are needed.
  virtual bool needsMatchedIndex() const { return false; }
};

/// Parses `u` of an update statement: a document of operators, a replacement document, or an array (pipeline).
/// `arrayFilters` is the array of filters, or empty; `constants` is `c` of the pipeline form.
/// Errors: FailedToParse (unknown modifier, bad operand), ConflictingUpdateOperators, BadValue (array filters), ...
StatusWith<std::unique_ptr<Update>> parseUpdate(const bson::Element& u, bson::View arrayFilters,
                                                const ParseContext& context, bson::View constants = {});

/// 17419 for an updated document that is too large to be stored; asked before it is made.
Status checkUpdatedSize(size_t bytes);
/// Whether a document may be stored in the place of another, however it was made. Errors: 17419, ImmutableField,
/// InvalidIdField, Overflow.
Status checkUpdated(bson::View before, bson::View after);

/// The document an upsert starts from: the filter's equalities ({a: 1}, $eq, $and, single $in and $all), dotted paths
/// nested. Replacements take only _id. Errors: NotSingleValueField (54) for contradicting equalities.
StatusWith<bson::Document> documentFromFilter(const MatchExpression& filter, Update::Form form);

/// An upsert's insert, whole: documentFromFilter, then apply with isInsert; _id comes first and is generated with
/// `newId` when neither gave one.
StatusWith<bson::Document> documentForUpsert(const MatchExpression& filter, const Update& update,
                                             const bson::ObjectId& newId);

/// Whether the document of the same key that stood in the way of an upsert's matches the filter, so that the upsert
/// lost a race and finds the other's document when it looks again.
enum class KeyMatch : uint8_t {
  kNo,       ///< the key is not of values that the filter asks for
  kPerhaps,  ///< it is, but the filter has further conditions
  kSurely,
};
/// `made`: the upsert's document. The collations of index and filter are the same.
KeyMatch matchByKey(const MatchExpression& filter, bson::View keyPattern, bson::View made);

}  // namespace troupe::query
