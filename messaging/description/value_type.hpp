#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/description/description.hpp"
#include "messaging/errors/status.hpp"

/// Run-time type information for the archives: one table a type, made by the compiler. Thanks to it the archives are
/// ordinary code, compiled once, and a described type costs its users two small functions instead of one set an
/// archive.
namespace troupe::machines {

/// Which values a described struct may consist of.
enum class Kind : uint8_t {
  kBool,
  kInteger,  ///< of any width and sign, and durations, as the number of their ticks
  kDouble,   ///< double and float
  kString,   ///< std::string
  kBytes,    ///< std::vector<uint8_t>
  kEnum,     ///< an enum with EnumNames
  kUuid,
  kObjectId,
  kTimestamp,
  kDate,
  kDecimal,   ///< these types are those of messaging/bson
  kStatus,    ///< troupe::Status
  kDocument,  ///< bson::Document
  kValue,     ///< bson::Value, which may be missing
  kOptional,  ///< std::optional
  kList,      ///< std::vector and std::set
  kMap,       ///< std::map with std::string keys
  kVariant,   ///< std::variant of described types
  kStruct,    ///< described
};

struct ValueType {
  Kind kind;
};

/// A callable borrowed for the length of a call.
template <class Signature>
class FunctionRef;
template <class... Args>
class FunctionRef<void(Args...)> {
 public:
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, FunctionRef>) FunctionRef(F&& callable)  // NOLINT: implicit by design
      : callable_(const_cast<void*>(static_cast<const void*>(&callable))),
        call_([](void* c, Args... args) { (*static_cast<std::remove_reference_t<F>*>(c))(args...); }) {}
  void operator()(Args... args) const { call_(callable_, args...); }

 private:
  void* callable_;
  void (*call_)(void*, Args...);
};

struct IntegerType : ValueType {
  bool isSigned;
  uint8_t bytes;
};
struct DoubleType : ValueType {
  bool isFloat;
};
struct EnumType : ValueType {
  std::string_view (*name)(const void* value);
  bool (*parse)(void* value, std::string_view name);  ///< false for an unknown name
  std::string_view (*nameAt)(unsigned number);        ///< of the value of that number, at most 127
};
struct OptionalType : ValueType {
  const ValueType& (*element)();
  const void* (*get)(const void* optional);  ///< null when empty
  void* (*emplace)(void* optional);
  void (*reset)(void* optional);
};
struct ListType : ValueType {
  const ValueType& (*element)();
  bool isSet;
  size_t (*size)(const void* list);
  void (*each)(const void* list, FunctionRef<void(const void*)> visit);
  void (*clear)(void* list);
  void (*append)(void* list, FunctionRef<void(void*)> fill);  ///< appends what `fill` makes of a new element
};
struct MapType : ValueType {
  const ValueType& (*element)();
  size_t (*size)(const void* map);
  void (*each)(const void* map, FunctionRef<void(const std::string&, const void*)> visit);
  void (*clear)(void* map);
  void* (*insert)(void* map, std::string_view key);  ///< the new element, or the one that was there
};
struct StructType;
struct VariantType : ValueType {
  size_t count;
  const StructType& (*alternative)(size_t index);
  size_t (*index)(const void* variant);
  const void* (*get)(const void* variant);
  void* (*emplace)(void* variant, size_t index);
};

class FieldSink;
class SaveArchive;
class LoadArchive;
namespace detail {
struct MessageLayout;
}
struct StructType : ValueType {
  std::string_view name;     ///< typeName
  std::string_view subject;  ///< subjectName
  unsigned version;          ///< the newest
  void (*save)(SaveArchive& archive, const void* value);
  void (*load)(LoadArchive& archive, void* value, unsigned version);
  void (*describe)(FieldSink& sink);  ///< shows the fields of a default value
  const detail::MessageLayout& (*layout)();
};

namespace detail {
std::shared_ptr<const MessageLayout> makeMessageLayout(const StructType& type);
}

/// Takes the fields of a struct, one after the other.
class FieldSink {
 public:
  virtual void field(const char* name, const ValueType& type, const void* value) = 0;

 protected:
  ~FieldSink() = default;
};
/// Fills the fields of a struct, one after the other. After a failure it leaves them as they are.
class FieldSource {
 public:
  virtual void field(const char* name, const ValueType& type, void* value) = 0;

 protected:
  ~FieldSource() = default;
};

template <class T>
const ValueType& typeOf();

/// The archives that `serialize` meets.
class SaveArchive : boost::serialization::TroupeArchive {
 public:
  using is_saving = std::true_type;
  using is_loading = std::false_type;
  explicit SaveArchive(FieldSink& sink) : sink_(sink) {}
  template <class T>
  SaveArchive& operator&(const boost::serialization::nvp<T>& field) {
    sink_.field(field.name(), typeOf<std::remove_const_t<T>>(), &field.const_value());
    return *this;
  }
  template <class T>
  SaveArchive& operator<<(const boost::serialization::nvp<T>& field) {
    return *this & field;
  }

 private:
  FieldSink& sink_;
};
class LoadArchive : boost::serialization::TroupeArchive {
 public:
  using is_saving = std::false_type;
  using is_loading = std::true_type;
  explicit LoadArchive(FieldSource& source) : source_(source) {}
  template <class T>
  LoadArchive& operator&(const boost::serialization::nvp<T>& field) {
    source_.field(field.name(), typeOf<T>(), &field.value());
    return *this;
  }
  template <class T>
  LoadArchive& operator>>(const boost::serialization::nvp<T>& field) {
    return *this & field;
  }

 private:
  FieldSource& source_;
};

/// An integer of any type, sign-extended to 64 bits.
uint64_t integerOf(const IntegerType& type, const void* value);
/// Whether the number fits; `negative` says how its bits are meant. Stores it if so.
bool setInteger(const IntegerType& type, void* value, uint64_t bits, bool negative);
/// Throws std::logic_error for a key of a map that cannot name a field of a document: one that holds a NUL.
void requireKey(std::string_view key);
/// Whether it can.
inline bool isKey(std::string_view key) { return key.find('\0') == std::string_view::npos; }
double doubleOf(const DoubleType& type, const void* value);
void setDouble(const DoubleType& type, void* value, double number);
/// The name of an enum's value; throws std::logic_error for what is no value of the enum.
std::string_view enumNameOf(const EnumType& type, const void* value);

namespace detail {

template <class T>
inline constexpr bool kIsDuration = false;
template <class R, class P>
inline constexpr bool kIsDuration<std::chrono::duration<R, P>> = std::is_integral_v<R>;
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = !std::is_same_v<T, bool>;
template <class T>
inline constexpr bool kIsSet = false;
template <class T, class C>
inline constexpr bool kIsSet<std::set<T, C>> = true;
template <class T>
inline constexpr bool kIsMap = false;
template <class T, class C>
inline constexpr bool kIsMap<std::map<std::string, T, C>> = true;
template <class T>
inline constexpr bool kIsVariant = false;
template <class... T>
inline constexpr bool kIsVariant<std::variant<T...>> = (Described<T> && ...);
template <class T>
inline constexpr bool kIsBytes = std::is_same_v<T, std::vector<uint8_t>>;
template <class T>
inline constexpr bool kIsPlain = false;
template <>
inline constexpr bool kIsPlain<bool> = true;
template <>
inline constexpr bool kIsPlain<std::string> = true;
template <>
inline constexpr bool kIsPlain<bson::Uuid> = true;
template <>
inline constexpr bool kIsPlain<bson::ObjectId> = true;
template <>
inline constexpr bool kIsPlain<bson::Timestamp> = true;
template <>
inline constexpr bool kIsPlain<bson::Date> = true;
template <>
inline constexpr bool kIsPlain<bson::Decimal128> = true;
template <>
inline constexpr bool kIsPlain<Status> = true;
template <>
inline constexpr bool kIsPlain<bson::Document> = true;
template <>
inline constexpr bool kIsPlain<bson::Value> = true;

template <class T>
constexpr Kind plainKind() {
  if constexpr (std::is_same_v<T, bool>) return Kind::kBool;
  else if constexpr (std::is_same_v<T, std::string>) return Kind::kString;
  else if constexpr (std::is_same_v<T, bson::Uuid>) return Kind::kUuid;
  else if constexpr (std::is_same_v<T, bson::ObjectId>) return Kind::kObjectId;
  else if constexpr (std::is_same_v<T, bson::Timestamp>) return Kind::kTimestamp;
  else if constexpr (std::is_same_v<T, bson::Date>) return Kind::kDate;
  else if constexpr (std::is_same_v<T, bson::Decimal128>) return Kind::kDecimal;
  else if constexpr (std::is_same_v<T, Status>) return Kind::kStatus;
  else if constexpr (std::is_same_v<T, bson::Document>) return Kind::kDocument;
  else return Kind::kValue;
}

template <class T>
T& as(void* p) {
  return *static_cast<T*>(p);
}
template <class T>
const T& as(const void* p) {
  return *static_cast<const T*>(p);
}

template <class T>
std::string_view nameOfEnum(const void* value) {
  return EnumNames<T>::name(as<T>(value));
}
template <class T>
bool parseEnum(void* value, std::string_view name) {
  const std::optional<T> parsed = EnumNames<T>::parse(name);
  if (parsed) as<T>(value) = *parsed;
  return parsed.has_value();
}
template <class T>
std::string_view nameOfNumber(unsigned number) {
  return EnumNames<T>::name(static_cast<T>(number));
}

/// The table of each kind of type; a constant, so that it needs no initialisation at run time.
template <class T>
struct Table;

template <class T>
requires kIsPlain<T>
struct Table<T> {
  static constexpr ValueType kType{plainKind<T>()};
};
template <>
struct Table<std::vector<uint8_t>> {
  static constexpr ValueType kType{Kind::kBytes};
};
template <class T>
requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) struct Table<T> {
  static constexpr IntegerType kType{{Kind::kInteger}, std::is_signed_v<T>, sizeof(T)};
};
template <class T>
requires kIsDuration<T>
struct Table<T> {
  static constexpr IntegerType kType{{Kind::kInteger}, std::is_signed_v<typename T::rep>, sizeof(typename T::rep)};
  static_assert(sizeof(T) == sizeof(typename T::rep));
};
template <class T>
requires(std::is_same_v<T, double> || std::is_same_v<T, float>) struct Table<T> {
  static constexpr DoubleType kType{{Kind::kDouble}, std::is_same_v<T, float>};
};
template <NamedEnum T>
struct Table<T> {
  static constexpr EnumType kType{{Kind::kEnum}, nameOfEnum<T>, parseEnum<T>, nameOfNumber<T>};
};

template <class T>
requires kIsOptional<T>
struct Table<T> {
  static const void* get(const void* p) { return as<T>(p) ? &*as<T>(p) : nullptr; }
  static void* emplace(void* p) { return &as<T>(p).emplace(); }
  static void reset(void* p) { as<T>(p).reset(); }
  static_assert(!kIsOptional<typename T::value_type> && !std::is_same_v<typename T::value_type, bson::Value>,
                "an optional of what may be absent itself says nothing clear");
  static constexpr OptionalType kType{{Kind::kOptional}, typeOf<typename T::value_type>, get, emplace, reset};
};

template <class T>
requires((kIsVector<T> && !kIsBytes<T>) || kIsSet<T>) struct Table<T> {
  static size_t size(const void* p) { return as<T>(p).size(); }
  static void each(const void* p, FunctionRef<void(const void*)> visit) {
    for (const auto& element : as<T>(p)) visit(&element);
  }
  static void clear(void* p) { as<T>(p).clear(); }
  static void append(void* p, FunctionRef<void(void*)> fill) {
    typename T::value_type element{};
    fill(&element);
    as<T>(p).insert(as<T>(p).end(), std::move(element));
  }
  static constexpr ListType kType{{Kind::kList}, typeOf<typename T::value_type>, kIsSet<T>, size, each, clear, append};
};

template <class T>
requires kIsMap<T>
struct Table<T> {
  static size_t size(const void* p) { return as<T>(p).size(); }
  static void each(const void* p, FunctionRef<void(const std::string&, const void*)> visit) {
    for (const auto& [key, element] : as<T>(p)) visit(key, &element);
  }
  static void clear(void* p) { as<T>(p).clear(); }
  static void* insert(void* p, std::string_view key) { return &as<T>(p)[std::string(key)]; }
  static constexpr MapType kType{{Kind::kMap}, typeOf<typename T::mapped_type>, size, each, clear, insert};
};

template <Described T>
struct Table<T> {
  static void save(SaveArchive& archive, const void* p) { serialize(archive, const_cast<T&>(as<T>(p)), kVersionOf<T>); }
  static void load(LoadArchive& archive, void* p, unsigned version) { serialize(archive, as<T>(p), version); }
  static void describe(FieldSink& sink) {
    const T value{};
    SaveArchive archive(sink);
    save(archive, &value);
  }
  static const MessageLayout& layout() {
    static const std::shared_ptr<const MessageLayout> made = makeMessageLayout(kType);
    return *made;
  }
  static constexpr StructType kType{{Kind::kStruct}, typeName<T>(), subjectName<T>(), kVersionOf<T>, save, load,
                                    describe,        layout};
};

template <class... T>
requires kIsVariant<std::variant<T...>>
struct Table<std::variant<T...>> {
  using Variant = std::variant<T...>;
  static const StructType& alternative(size_t index) {
    static constexpr const StructType* kAll[] = {&Table<T>::kType...};
    return *kAll[index];
  }
  static size_t index(const void* p) { return as<Variant>(p).index(); }
  static const void* get(const void* p) {
    return std::visit([](const auto& value) -> const void* { return &value; }, as<Variant>(p));
  }
  static void* emplace(void* p, size_t index) {
    return emplaceOf(as<Variant>(p), index, std::index_sequence_for<T...>());
  }
  template <size_t... I>
  static void* emplaceOf(Variant& variant, size_t index, std::index_sequence<I...>) {
    void* made = nullptr;
    ((I == index ? made = &variant.template emplace<I>() : nullptr), ...);
    return made;
  }
  static constexpr VariantType kType{{Kind::kVariant}, sizeof...(T), alternative, index, get, emplace};
};

template <class T>
concept Tabled = requires {
  Table<T>::kType;
};

}  // namespace detail

/// The table of a type that a described struct may hold.
template <class T>
const ValueType& typeOf() {
  static_assert(
      detail::Tabled<T>,
      "a described field is a bool, number, duration, std::string, bytes, an enum with TROUPE_ENUM, an id, time or "
      "document of BSON, a Status, a described struct, or an optional, vector, set, map<std::string, ...> or variant "
      "of such (a vector<bool> is not)");
  return detail::Table<T>::kType;
}
template <Described T>
const StructType& structOf() {
  return detail::Table<T>::kType;
}

/// A type that can stand alone as a document: a described struct, or a variant of such (the events of a machine).
template <class T>
concept Documented = Described<T> || detail::kIsVariant<T>;

/// The deepest nesting of values in each other. Reading deeper ones fails; writing them is a broken invariant.
inline constexpr int kMaxValueDepth = 64;

}  // namespace troupe::machines
