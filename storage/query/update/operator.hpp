#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "messaging/errors/status.hpp"
#include "storage/query/expression/operand.hpp"
#include "storage/query/parse_context.hpp"
#include "storage/query/update/update.hpp"

namespace troupe::query {

/// Effect of an operator on one field.
struct UpdateOutcome {
  enum class Kind { kKeep, kSet, kRemove };
  Kind kind = Kind::kKeep;
  Operand value;  ///< of kSet; may borrow from the operator or the document

  static UpdateOutcome keep() { return {}; }
  static UpdateOutcome remove() { return {Kind::kRemove, {}}; }
  static UpdateOutcome set(Operand value) { return {Kind::kSet, std::move(value)}; }
};

/// One `$op: {path: operand}`. Immutable; owns its operand.
class UpdateOperator {
 public:
  explicit UpdateOperator(std::string path) : path_(std::move(path)) {}
  virtual ~UpdateOperator() = default;
  /// The path as written.
  const std::string& path() const { return path_; }
  /// `current` is the present value, or absent.
  virtual StatusWith<UpdateOutcome> apply(const bson::Element& current, const UpdateInput& input) const = 0;
  /// Does it make a field, with the path to it, where there is none?
  virtual bool creates(const UpdateInput&) const { return true; }
  /// Does it fail where its path leads through a scalar, or names a field of an array?
  virtual bool needsPath(const UpdateInput& input) const { return creates(input); }
  /// Does it only take fields away? Its path may then have names that no field may be given.
  virtual bool removesOnly() const { return false; }
  /// Levels of nesting below the path that the operand may bring.
  virtual int depth() const { return 1; }

 protected:
  /// "{_id: 1}", for messages.
  static std::string documentId(const UpdateInput& input);

 private:
  std::string path_;
};
using UpdateOperatorPtr = std::unique_ptr<const UpdateOperator>;

/// The operators by name, for `operand` of `path`; $rename is two operators and apart. Null for an unknown name.
/// Errors: BadValue, TypeMismatch, FailedToParse by the operand's form.
StatusWith<UpdateOperatorPtr> makeUpdateOperator(std::string_view name, std::string path, const bson::Element& operand,
                                                 const ParseContext& context);
/// The part of them that works on arrays: $push, $addToSet, $pull, $pullAll, $pop.
StatusWith<UpdateOperatorPtr> makeArrayOperator(std::string_view name, std::string path, const bson::Element& operand,
                                                const ParseContext& context);
/// $rename's two ends.
UpdateOperatorPtr renameTo(std::string target, std::string source);
UpdateOperatorPtr renameFrom(std::string source);

/// "name: value", and the type's name, for messages.
std::string describeElement(const bson::Element& e);
/// Levels of documents and arrays in a value.
int nestingDepth(const bson::Element& e);

}  // namespace troupe::query
