#include "messaging/log/verbosity.hpp"

#include <optional>
#include <string>

namespace troupe::log {

namespace {

using Levels = std::array<int8_t, kComponents + 1>;

struct Row {
  std::string_view name;
  std::optional<Component> parent;
};
/// In the order of the components.
constexpr std::array<Row, kComponents> kRows = {{{"accessControl", {}},
                                                 {"actor", {}},
                                                 {"admin", {}},
                                                 {"command", {}},
                                                 {"control", {}},
                                                 {"index", {}},
                                                 {"network", {}},
                                                 {"query", {}},
                                                 {"recovery", Component::kStorage},
                                                 {"replication", {}},
                                                 {"storage", {}},
                                                 {"supervision", {}},
                                                 {"write", {}}}};

std::optional<Component> childNamed(std::string_view name, std::optional<Component> parent) {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].name == name && kRows[i].parent == parent) return static_cast<Component>(i);
  return std::nullopt;
}

Status readLevel(const bson::Element& given, const std::string& place, int least, int8_t& into) {
  if (!given.isNumber()) return {ErrorCode::kTypeMismatch, "logComponentVerbosity: " + place + " must be a number"};
  const int64_t level = given.toInt64();
  if (level < least || level > Verbosity::kMost)
    return {ErrorCode::kBadValue, "logComponentVerbosity: " + place + " must be between " + std::to_string(least) +
                                      " and " + std::to_string(Verbosity::kMost) + ", not " + std::to_string(level)};
  into = static_cast<int8_t>(level);
  return Status::OK();
}

Status read(bson::View given, const std::string& place, std::optional<Component> here, Levels& into) {
  for (const bson::Element& field : given) {
    const std::string name = place + std::string(field.name());
    if (field.name() == "verbosity") {
      const size_t index = here ? static_cast<size_t>(*here) : kComponents;
      TROUPE_TRY(readLevel(field, name, here ? Verbosity::kInherited : 0, into[index]));
      continue;
    }
    const auto component = childNamed(field.name(), here);
    if (!component) return {ErrorCode::kBadValue, "logComponentVerbosity: there is no component " + name};
    if (!field.is(bson::Type::kDocument))
      return {ErrorCode::kTypeMismatch,
              "logComponentVerbosity: " + name + " must be a document such as {verbosity: 1}"};
    TROUPE_TRY(read(field.asDocument(), name + ".", component, into));
  }
  return Status::OK();
}

}  // namespace

Verbosity::Verbosity() {
  for (auto& level : levels_) level.store(kInherited, std::memory_order_relaxed);
  setBase(0);
}

int Verbosity::of(Component component) const {
  const auto index = static_cast<size_t>(component);
  const int own = levels_[index].load(std::memory_order_relaxed);
  if (own != kInherited) return own;
  return kRows[index].parent ? of(*kRows[index].parent) : base();
}

bson::Document Verbosity::describe() const {
  bson::Builder out;
  out.append("verbosity", base());
  for (size_t i = 0; i < kComponents; ++i) {
    if (kRows[i].parent) continue;
    out.openDocument(kRows[i].name);
    out.append("verbosity", static_cast<int32_t>(levels_[i].load(std::memory_order_relaxed)));
    for (size_t child = 0; child < kComponents; ++child) {
      if (kRows[child].parent != static_cast<Component>(i)) continue;
      out.append(kRows[child].name,
                 bson::doc("verbosity", static_cast<int32_t>(levels_[child].load(std::memory_order_relaxed))));
    }
    out.close();
  }
  return out.finish();
}

Status Verbosity::set(bson::View given) {
  Levels wanted;
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = levels_[i].load(std::memory_order_relaxed);
  TROUPE_TRY(read(given, "", std::nullopt, wanted));
  for (size_t i = 0; i < wanted.size(); ++i) levels_[i].store(wanted[i], std::memory_order_relaxed);
  return Status::OK();
}

}  // namespace troupe::log
