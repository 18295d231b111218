#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <unordered_map>
#include <utility>
#include <variant>

#include "messaging/description/fingerprint.hpp"
#include "messaging/description/text.hpp"

namespace troupe::model {

using ValueId = uint32_t;
/// The new names of nodes under a permutation.
using Renaming = std::function<std::string(const std::string&)>;

/// All messages, events and actions that a model has met, by number: equal values of one type have one number. Values
/// are described structs (TROUPE_DESCRIBE). One thread.
class Values {
 public:
  template <class T>
  ValueId add(const T& value) {
    if (const auto at = simplifications_.find(typeid(T)); at != simplifications_.end()) {
      T simple = value;
      at->second(&simple);
      return addAsIs(simple);
    }
    return addAsIs(value);
  }
  /// From now on values of that type are changed before they are looked at.
  template <class T>
  void simplify(std::function<void(T&)> change) {
    simplifications_[typeid(T)] = [change](void* value) { change(*static_cast<T*>(value)); };
  }
  /// How the nodes' names within values of that type are changed; types without this hold none.
  template <class T>
  void renames(std::function<void(T&, const Renaming&)> change) {
    renamings_[typeid(T)] = [this, change](const void* value, const Renaming& renaming) {
      T renamed = *static_cast<const T*>(value);
      change(renamed, renaming);
      return add(renamed);
    };
  }
  ValueId renamed(ValueId id, const Renaming& renaming) {
    const auto at = renamings_.find(rows_[id].type);
    return at == renamings_.end() ? id : at->second(rows_[id].data.get(), renaming);
  }
  /// The alternative that the variant holds.
  template <class... T>
  ValueId add(const std::variant<T...>& variant) {
    return std::visit([this](const auto& value) { return add(value); }, variant);
  }

  std::type_index type(ValueId id) const { return rows_[id].type; }
  const void* data(ValueId id) const { return rows_[id].data.get(); }
  /// The name of its type: "VoteRequest".
  std::string_view name(ValueId id) const { return rows_[id].name; }
  /// "VoteRequest{term=2, candidate=n1}".
  std::string text(ValueId id) const { return rows_[id].text(rows_[id].data.get()); }
  size_t size() const { return rows_.size(); }

 private:
  template <class T>
  ValueId addAsIs(const T& value) {
    std::string key = typeid(T).name();
    key += '\0';
    machines::appendFingerprint(key, value);
    const auto [at, isNew] = numbers_.try_emplace(std::move(key), static_cast<ValueId>(rows_.size()));
    if (isNew) rows_.push_back({typeid(T), std::make_shared<T>(value), machines::typeName<T>(), textOf<T>});
    return at->second;
  }
  struct Row {
    std::type_index type;
    std::shared_ptr<const void> data;
    std::string_view name;
    std::string (*text)(const void*);
  };
  template <class T>
  static std::string textOf(const void* value) {
    return machines::toText(*static_cast<const T*>(value));
  }

  std::deque<Row> rows_;
  std::unordered_map<std::string, ValueId> numbers_;
  std::unordered_map<std::type_index, std::function<void(void*)>> simplifications_;
  std::unordered_map<std::type_index, std::function<ValueId(const void*, const Renaming&)>> renamings_;
};

}  // namespace troupe::model
