#include "storage/oplog/logged_modification.hpp"

#include <string>

namespace troupe::storage {

namespace {

using bson::Type;

Status wrongField(std::string_view name) {
  return {ErrorCode::kFailedToParse, "the field '" + std::string(name) + "' of a logged collMod is unknown or wrong"};
}

/// Reads one field; the reader of its type comes with it.
class FieldReader {
 public:
  explicit FieldReader(const bson::Element& field) : field_(field) {}
  Status into(std::optional<bool>& flag) const {
    if (!field_.is(Type::kBool)) return wrongField(field_.name());
    flag = field_.asBool();
    return Status::OK();
  }
  Status into(std::optional<int64_t>& number) const {
    if (!field_.isNumber()) return wrongField(field_.name());
    number = field_.toInt64();
    return Status::OK();
  }
  Status into(std::optional<std::string>& text) const {
    if (!field_.is(Type::kString)) return wrongField(field_.name());
    text = std::string(field_.asString());
    return Status::OK();
  }
  Status into(std::string& text) const {
    std::optional<std::string> read;
    TROUPE_TRY(into(read));
    text = *read;
    return Status::OK();
  }
  Status into(std::optional<bson::Document>& document) const {
    if (!field_.is(Type::kDocument) && !field_.is(Type::kArray)) return wrongField(field_.name());
    document = bson::Document(field_.is(Type::kArray) ? field_.asArray() : field_.asDocument());
    return Status::OK();
  }

 private:
  const bson::Element& field_;
};

Status readIndex(const bson::Element& field, CollectionChange& change) {
  if (!field.is(Type::kDocument)) return wrongField("index");
  for (const bson::Element& each : field.asDocument()) {
    const FieldReader read(each);
    if (each.name() == "name") TROUPE_TRY(read.into(change.index));
    else if (each.name() == "hidden") TROUPE_TRY(read.into(change.indexChange.hidden));
    else if (each.name() == "unique") TROUPE_TRY(read.into(change.indexChange.unique));
    else if (each.name() == "prepareUnique") TROUPE_TRY(read.into(change.indexChange.prepareUnique));
    else if (each.name() == "expireAfterSeconds") TROUPE_TRY(read.into(change.indexChange.expireAfterSeconds));
    else return wrongField(each.name());
  }
  return change.index.empty() ? wrongField("index.name") : Status::OK();
}

Status readLifetime(const bson::Element& field, CollectionChange& change) {
  LifetimeChange lifetime;
  if (!field.is(Type::kString)) TROUPE_TRY(FieldReader(field).into(lifetime.seconds));
  else if (field.asString() != "off") return wrongField(field.name());
  change.expireAfterSeconds = lifetime;
  return Status::OK();
}

Status readImages(const bson::Element& field, CollectionChange& change) {
  if (!field.is(Type::kDocument)) return wrongField(field.name());
  const bson::Element enabled = field.asDocument()["enabled"];
  return FieldReader(enabled).into(change.recordPreImages);
}

}  // namespace

bson::Document argumentsOf(const CollectionChange& change) {
  bson::Builder arguments;
  const auto add = [&](std::string_view name, const auto& value) {
    if (value) arguments.append(name, *value);
  };
  if (!change.index.empty()) {
    arguments.openDocument("index").append("name", change.index);
    add("hidden", change.indexChange.hidden);
    add("unique", change.indexChange.unique);
    add("prepareUnique", change.indexChange.prepareUnique);
    add("expireAfterSeconds", change.indexChange.expireAfterSeconds);
    arguments.close();
  }
  add("validator", change.validator);
  add("validationLevel", change.validationLevel);
  add("validationAction", change.validationAction);
  add("cappedSize", change.cappedSize);
  add("cappedMax", change.cappedMax);
  if (const auto& lifetime = change.expireAfterSeconds; lifetime && !lifetime->seconds)
    arguments.append("expireAfterSeconds", "off");
  else if (lifetime) add("expireAfterSeconds", lifetime->seconds);
  if (change.recordPreImages)
    arguments.append("changeStreamPreAndPostImages", bson::doc("enabled", *change.recordPreImages));
  add("viewOn", change.viewOn);
  if (change.pipeline) arguments.appendArray("pipeline", *change.pipeline);
  return arguments.finish();
}

StatusWith<CollectionChange> changeOf(bson::View arguments) {
  CollectionChange change;
  for (const bson::Element& field : arguments) {
    const FieldReader read(field);
    const std::string_view name = field.name();
    if (name == "index") TROUPE_TRY(readIndex(field, change));
    else if (name == "validator") TROUPE_TRY(read.into(change.validator));
    else if (name == "validationLevel") TROUPE_TRY(read.into(change.validationLevel));
    else if (name == "validationAction") TROUPE_TRY(read.into(change.validationAction));
    else if (name == "cappedSize") TROUPE_TRY(read.into(change.cappedSize));
    else if (name == "cappedMax") TROUPE_TRY(read.into(change.cappedMax));
    else if (name == "expireAfterSeconds") TROUPE_TRY(readLifetime(field, change));
    else if (name == "changeStreamPreAndPostImages") TROUPE_TRY(readImages(field, change));
    else if (name == "viewOn") TROUPE_TRY(read.into(change.viewOn));
    else if (name == "pipeline") TROUPE_TRY(read.into(change.pipeline));
    else return wrongField(name);
  }
  return change;
}

}  // namespace troupe::storage
