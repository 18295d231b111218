#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::server {

/// The types an argument may have, as bits.
enum ArgumentType : uint16_t {
  kAnyType = 0,  ///< anything
  kBoolArg = 1,  ///< bool
  kNumberArg = 2,
  kStringArg = 4,
  kDocumentArg = 8,
  kArrayArg = 16,
  kBinaryArg = 32,
  kObjectIdArg = 64,
  kTimestampArg = 128,
  kUuidArg = 256,                    ///< binary of 16 bytes with the subtype of UUIDs
  kFlagArg = kBoolArg | kNumberArg,  ///< a bool that may be written as a number
};

/// One argument of a command. Null is accepted for every optional argument and means "not given". Made by the functions
/// below: `documentArg("filter")`, `arrayArg("pipeline").required()`.
struct Argument {
  std::string_view name;
  uint16_t types = kAnyType;
  bool isRequired = false;
  bool isInStableApi = true;

  constexpr Argument required() const { return {name, types, true, isInStableApi}; }
  /// Refused under apiStrict.
  constexpr Argument outsideStableApi() const { return {name, types, isRequired, false}; }
};

constexpr Argument anyArg(std::string_view name) { return {name, kAnyType}; }
constexpr Argument boolArg(std::string_view name) { return {name, kBoolArg}; }
constexpr Argument flagArg(std::string_view name) { return {name, kFlagArg}; }
constexpr Argument numberArg(std::string_view name) { return {name, kNumberArg}; }
constexpr Argument stringArg(std::string_view name) { return {name, kStringArg}; }
constexpr Argument documentArg(std::string_view name) { return {name, kDocumentArg}; }
constexpr Argument arrayArg(std::string_view name) { return {name, kArrayArg}; }
constexpr Argument binaryArg(std::string_view name) { return {name, kBinaryArg}; }
constexpr Argument timestampArg(std::string_view name) { return {name, kTimestampArg}; }
constexpr Argument uuidArg(std::string_view name) { return {name, kUuidArg}; }
/// Of one of several types: `eitherArg("hint", kStringArg | kDocumentArg)`.
constexpr Argument eitherArg(std::string_view name, int types) { return {name, static_cast<uint16_t>(types)}; }

/// Arguments of a command. Fields that every command accepts (`$db`, `lsid`, `maxTimeMS`, `comment` ...) need not be
/// named.
using ArgumentTable = std::span<const Argument>;

/// In a table: fields it does not name are accepted and ignored, as where newer clients may say more than this server
/// understands.
inline constexpr std::string_view kAnyOther = "*";
inline constexpr Argument kAnyOtherArgs = anyArg(kAnyOther);

/// For commands whose fields are names of their own kind (parameters): everything is accepted, the body checks.
inline constexpr Argument kNamedFreely[] = {kAnyOtherArgs};

/// Checks `body` strictly against the table: unknown fields (40415), duplicates (40413), wrong types (TypeMismatch),
/// UUIDs that are none (InvalidUUID) and missing required fields (40414) are refused with messages that name the field.
/// The first field, the command's own, is not checked. Afterwards the first field of a name is the only one, and one
/// that is required has its type. A table has at most 64 arguments.
Status checkArguments(std::string_view command, ArgumentTable table, bson::View body, bool apiStrict = false);
/// The same for a document within a command, such as a statement: all of its fields are checked. `what` names it in
/// messages.
Status checkFields(std::string_view what, ArgumentTable table, bson::View document);

/// Fields every command accepts.
std::span<const Argument> genericArguments();
bool isGenericArgument(std::string_view name);

}  // namespace troupe::server
