#pragma once
#include <boost/core/nvp.hpp>
#include <boost/serialization/version.hpp>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

/// How a struct says once what it consists of. The description is Boost.Serialization's: a free `serialize` with named
/// values and a class version. From it come the readable state document (bson_archive.hpp), Boost's own archives
/// (boost_archive.hpp), the message (message_archive.hpp), the model checker's fingerprint (fingerprint.hpp) and the
/// line of a trace (text.hpp). See docs/contributors/state-documents.md.
namespace troupe::machines {

/// Specialised by TROUPE_DESCRIBE and TROUPE_DESCRIBE_VERSION.
template <class T>
struct Description;

/// A struct that was described.
template <class T>
concept Described = requires {
  { Description<std::remove_cv_t<T>>::kQualifiedName } -> std::convertible_to<std::string_view>;
};

/// The names of an enum's values, as they stand in documents and messages. Specialisations (TROUPE_ENUM, or a machine's
/// list of phases) have
///   static std::string_view name(E value);                      // static text; empty for what is no value of E
///   static std::optional<E> parse(std::string_view name);       // nothing for an unknown name
template <class E>
struct EnumNames;

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E value, std::string_view name) {
  { EnumNames<E>::name(value) } -> std::convertible_to<std::string_view>;
  { EnumNames<E>::parse(name) } -> std::same_as<std::optional<E>>;
};

/// The newest version of a described type: the one that is written.
template <Described T>
inline constexpr unsigned kVersionOf = boost::serialization::version<std::remove_cv_t<T>>::value;

/// "troupe::machines::LeaseHandoff::Drained" -> "Drained". Static text.
template <Described T>
constexpr std::string_view typeName() {
  constexpr std::string_view name = Description<std::remove_cv_t<T>>::kQualifiedName;
  return name.substr(name.rfind(':') + 1);  // npos + 1 is 0
}

/// Name of a type in error messages: without namespaces, and without "Document", so that the document of a machine is
/// called as the machine is. "troupe::machines::LeaseHandoff::Document" -> "LeaseHandoff". Static text.
template <Described T>
constexpr std::string_view subjectName() {
  constexpr std::string_view kDocument = "::Document";
  std::string_view name = Description<std::remove_cv_t<T>>::kQualifiedName;
  for (size_t colon; (name.empty() || name[0] < 'A' || name[0] > 'Z') && (colon = name.find(':')) != name.npos;) {
    name.remove_prefix(name.find_first_not_of(':', colon));
  }
  if (name.size() > kDocument.size() && name.ends_with(kDocument)) name.remove_suffix(kDocument.size());
  return name;
}

namespace detail {

/// Specialised by TROUPE_DESCRIBE with a function that binds each field to its name: it compiles when none is missing.
template <class T>
struct AllFields;

/// A table of an enum's names, walked from front to back.
template <class E, size_t N>
constexpr std::string_view enumName(const std::pair<E, std::string_view> (&rows)[N], E value) {
  for (const auto& [known, name] : rows) {
    if (known == value) return name;
  }
  return {};
}
template <class E, size_t N>
constexpr std::optional<E> enumValue(const std::pair<E, std::string_view> (&rows)[N], std::string_view name) {
  for (const auto& [value, known] : rows) {
    if (known == name) return value;
  }
  return std::nullopt;
}

/// Whether these names may be fields of a type of that version: the archives write `version` themselves.
constexpr bool namesAreFree(unsigned version, std::initializer_list<std::string_view> names) {
  for (const auto& name : names) {
    if (name == "version" && version > 0) return false;
  }
  return true;
}

}  // namespace detail
}  // namespace troupe::machines

namespace boost::serialization {
/// Archives derive from it, so that they find `serialize` here as well as beside the described type.
struct TroupeArchive {};
}  // namespace boost::serialization

// A macro applied to each of up to about 80 arguments; none is fine.
#define TROUPE_EACH(macro, ...) __VA_OPT__(TROUPE_EXPAND3_(TROUPE_EACH_STEP_(macro, __VA_ARGS__)))
#define TROUPE_EACH_STEP_(macro, first, ...) \
  macro(first) __VA_OPT__(TROUPE_EACH_AGAIN_ TROUPE_PARENS_(macro, __VA_ARGS__))
#define TROUPE_EACH_AGAIN_() TROUPE_EACH_STEP_
#define TROUPE_PARENS_ ()
#define TROUPE_EXPAND3_(...) TROUPE_EXPAND2_(TROUPE_EXPAND2_(TROUPE_EXPAND2_(TROUPE_EXPAND2_(__VA_ARGS__))))
#define TROUPE_EXPAND2_(...) TROUPE_EXPAND1_(TROUPE_EXPAND1_(TROUPE_EXPAND1_(TROUPE_EXPAND1_(__VA_ARGS__))))
#define TROUPE_EXPAND1_(...) TROUPE_EXPAND0_(TROUPE_EXPAND0_(TROUPE_EXPAND0_(TROUPE_EXPAND0_(__VA_ARGS__))))
#define TROUPE_EXPAND0_(...) __VA_ARGS__

#define TROUPE_FIELD_(field) archive& boost::serialization::make_nvp(#field, value.field);
#define TROUPE_FIELD_NAME_(field) #field,
#define TROUPE_ENUM_ROW_(row) TROUPE_ENUM_PAIR_ row
#define TROUPE_ENUM_PAIR_(value, name) {Enum::value, name},

/// Names a type whose `serialize` is written by hand, because older versions of it have to load:
///   template <class Archive>
///   void serialize(Archive& archive, Lease& lease, const unsigned version) {   // beside the type, or in
///   boost::serialization
///     archive & make_nvp("holder", lease.holder);
///     if (version >= 2) archive & make_nvp("term", lease.term);                // version 1 knew no terms
///   }
///   TROUPE_DESCRIBE_VERSION(troupe::Lease, 2)
/// `version` is that of what is read; what is written always has the newest. Documents of state begin with version 1;
/// version 0 is for messages and parts that are written without a version. A type of version 1 or higher has no field
/// called `version`. At global scope.
#define TROUPE_DESCRIBE_VERSION(Type, number)                                                  \
  template <>                                                                                  \
  struct boost::serialization::version<Type> {                                                 \
    using type = mpl::int_<number>;                                                            \
    using tag = mpl::integral_c_tag;                                                           \
    static constexpr int value = number;                                                       \
    static_assert(number >= 0 && number < 256, "versions of " #Type " are numbers below 256"); \
  };                                                                                           \
  template <>                                                                                  \
  struct troupe::machines::Description<Type> {                                                 \
    static constexpr std::string_view kQualifiedName = #Type;                                  \
  };

/// Describes a struct by its fields, of which there may be none:
///   TROUPE_DESCRIBE(troupe::LeaseHandoff::Document, 1, id, lease, from, to, phase)
/// All of them: a field that is missing here does not compile. At global scope, once, in the header of the type.
#define TROUPE_DESCRIBE(Type, number, ...)                                                                        \
  TROUPE_DESCRIBE_VERSION(Type, number)                                                                           \
  static_assert(troupe::machines::detail::namesAreFree(number, {TROUPE_EACH(TROUPE_FIELD_NAME_, __VA_ARGS__)}),   \
                #Type ": the field `version` is the archive's");                                                  \
  static_assert(#__VA_ARGS__[0] != 0 || std::is_empty_v<Type>, #Type ": none of its fields is described");        \
  template <>                                                                                                     \
  struct troupe::machines::detail::AllFields<Type> {                                                              \
    static void named([[maybe_unused]] Type& value) { __VA_OPT__([[maybe_unused]] auto& [__VA_ARGS__] = value;) } \
  };                                                                                                              \
  namespace boost::serialization {                                                                                \
  template <class Archive>                                                                                        \
  void serialize([[maybe_unused]] Archive& archive, [[maybe_unused]] Type& value, const unsigned) {               \
    TROUPE_EACH(TROUPE_FIELD_, __VA_ARGS__)                                                                       \
  }                                                                                                               \
  }

/// Names the values of an enum: TROUPE_ENUM(troupe::Role, (kArbiter, "arbiter"), (kVoter, "voter")). At global scope.
#define TROUPE_ENUM(Type, ...)                                                                                   \
  template <>                                                                                                    \
  struct troupe::machines::EnumNames<Type> {                                                                     \
    using Enum = Type;                                                                                           \
    static constexpr std::pair<Enum, std::string_view> kRows[] = {TROUPE_EACH(TROUPE_ENUM_ROW_, __VA_ARGS__)};   \
    static constexpr std::string_view name(Enum value) { return detail::enumName(kRows, value); }                \
    static constexpr std::optional<Enum> parse(std::string_view name) { return detail::enumValue(kRows, name); } \
  };
