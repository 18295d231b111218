#include "messaging/bson/collation.hpp"

#include <unicode/coll.h>
#include <unicode/locid.h>
#include <unicode/ucol.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "messaging/bson/decimal.hpp"
#include "messaging/bson/json.hpp"

namespace troupe::bson {

struct Collator::Icu {
  std::unique_ptr<icu::Collator> rules;
};

namespace {

/// The version of the collation rules that index keys were made with.
constexpr std::string_view kVersion = "57.1";

struct Choice {
  std::string_view name;
  int value;
};
constexpr std::array<Choice, 2> kFlag{{{"", UCOL_OFF}, {"", UCOL_ON}}};
constexpr std::array<Choice, 3> kCaseFirst{
    {{"upper", UCOL_UPPER_FIRST}, {"lower", UCOL_LOWER_FIRST}, {"off", UCOL_OFF}}};
constexpr std::array<Choice, 2> kAlternate{{{"non-ignorable", UCOL_NON_IGNORABLE}, {"shifted", UCOL_SHIFTED}}};
constexpr std::array<Choice, 2> kMaxVariable{
    {{"punct", UCOL_REORDER_CODE_PUNCTUATION}, {"space", UCOL_REORDER_CODE_SPACE}}};
constexpr std::array<Choice, 5> kStrength{
    {{"", UCOL_PRIMARY}, {"", UCOL_SECONDARY}, {"", UCOL_TERTIARY}, {"", UCOL_QUATERNARY}, {"", UCOL_IDENTICAL}}};

Status wrongType(const Element& e, std::string_view expected) {
  return {ErrorCode::kTypeMismatch, "BSON field 'collation." + std::string(e.name()) + "' is the wrong type '" +
                                        std::string(typeName(e.type())) + "', expected type '" + std::string(expected) +
                                        "'"};
}

Status wrongValue(const Element& e) {
  return {ErrorCode::kBadValue, "Enumeration value '" +
                                    (e.is(Type::kString) ? std::string(e.asString()) : toRelaxedJson(e)) +
                                    "' for field 'collation." + std::string(e.name()) + "' is not a valid value."};
}

/// Reads one field of a collation document into ICU's attributes.
class Reader {
 public:
  explicit Reader(icu::Collator& rules) : rules_(rules) {}

  Status read(const Element& e) {
    const std::string_view name = e.name();
    if (name == "locale") return {};
    if (e.is(Type::kNull) && isOption(name)) return {};  // the default
    if (name == "caseLevel") return flag(e, UCOL_CASE_LEVEL);
    if (name == "numericOrdering") return flag(e, UCOL_NUMERIC_COLLATION);
    if (name == "normalization") return flag(e, UCOL_NORMALIZATION_MODE);
    if (name == "backwards") return flag(e, UCOL_FRENCH_COLLATION);
    if (name == "caseFirst") return choice(e, kCaseFirst, UCOL_CASE_FIRST);
    if (name == "alternate") return choice(e, kAlternate, UCOL_ALTERNATE_HANDLING);
    if (name == "strength") return strength(e);
    if (name == "maxVariable") return maxVariable(e);
    if (name == "version") return version(e);
    return {ErrorCode::kUnknownField, "BSON field 'collation." + std::string(name) + "' is an unknown field."};
  }

 private:
  /// Those of which null is the default; "backwards" has to be a boolean.
  static bool isOption(std::string_view name) {
    constexpr std::string_view kOptions[] = {"caseLevel", "numericOrdering", "normalization", "caseFirst",
                                             "alternate", "strength",        "maxVariable",   "version"};
    return std::find(std::begin(kOptions), std::end(kOptions), name) != std::end(kOptions);
  }

  Status set(UColAttribute attribute, int value, const Element& e) {
    UErrorCode error = U_ZERO_ERROR;
    rules_.setAttribute(attribute, static_cast<UColAttributeValue>(value), error);
    return U_FAILURE(error) ? wrongValue(e) : Status();
  }

  Status flag(const Element& e, UColAttribute attribute) {
    if (!e.is(Type::kBool)) return wrongType(e, "bool");
    return set(attribute, e.asBool() ? UCOL_ON : UCOL_OFF, e);
  }

  template <size_t N>
  Status choice(const Element& e, const std::array<Choice, N>& choices, UColAttribute attribute) {
    if (!e.is(Type::kString)) return wrongType(e, "string");
    for (const Choice& c : choices) {
      if (c.name == e.asString()) return set(attribute, c.value, e);
    }
    return wrongValue(e);
  }

  Status strength(const Element& e) {
    if (!e.isNumber()) return wrongType(e, "int");
    // Doubles are truncated, decimals rounded half to even.
    const double level = e.is(Type::kDecimal128) ? toDoubleLossy(roundTo(e.asDecimal(), 0, Rounding::kHalfEven))
                                                 : std::trunc(e.toDouble());
    if (!(level >= 1 && level <= 5)) return wrongValue(e);
    return set(UCOL_STRENGTH, kStrength[static_cast<size_t>(level - 1)].value, e);
  }

  Status maxVariable(const Element& e) {
    if (!e.is(Type::kString)) return wrongType(e, "string");
    for (const Choice& c : kMaxVariable) {
      if (c.name != e.asString()) continue;
      UErrorCode error = U_ZERO_ERROR;
      rules_.setMaxVariable(static_cast<UColReorderCode>(c.value), error);
      return U_FAILURE(error) ? wrongValue(e) : Status();
    }
    return wrongValue(e);
  }

  Status version(const Element& e) {
    if (!e.is(Type::kString)) return wrongType(e, "string");
    if (e.asString() == kVersion) return {};
    return {ErrorCode::kIncompatibleCollationVersion, "Requested collation version '" + std::string(e.asString()) +
                                                          "' but the only available collation version was '" +
                                                          std::string(kVersion) + "'"};
  }

  icu::Collator& rules_;
};

template <size_t N>
std::string_view nameOf(const std::array<Choice, N>& choices, int value) {
  for (const Choice& c : choices) {
    if (c.value == value) return c.name;
  }
  return choices[0].name;
}

int attribute(const icu::Collator& rules, UColAttribute which) {
  UErrorCode error = U_ZERO_ERROR;
  return rules.getAttribute(which, error);
}

int strengthOf(const icu::Collator& rules) {
  const int value = attribute(rules, UCOL_STRENGTH);
  for (size_t i = 0; i < kStrength.size(); ++i) {
    if (kStrength[i].value == value) return static_cast<int>(i) + 1;
  }
  return 3;
}

Document describe(const icu::Collator& rules, std::string_view locale) {
  const auto on = [&rules](UColAttribute which) { return attribute(rules, which) == kFlag[1].value; };
  Builder b;
  b.append("locale", locale)
      .append("caseLevel", on(UCOL_CASE_LEVEL))
      .append("caseFirst", nameOf(kCaseFirst, attribute(rules, UCOL_CASE_FIRST)))
      .append("strength", strengthOf(rules))
      .append("numericOrdering", on(UCOL_NUMERIC_COLLATION))
      .append("alternate", nameOf(kAlternate, attribute(rules, UCOL_ALTERNATE_HANDLING)))
      .append("maxVariable", nameOf(kMaxVariable, rules.getMaxVariable()))
      .append("normalization", on(UCOL_NORMALIZATION_MODE))
      .append("backwards", on(UCOL_FRENCH_COLLATION))
      .append("version", kVersion);
  return b.finish();
}

Status checkCombination(const icu::Collator& rules) {
  const int strength = strengthOf(rules);
  if (attribute(rules, UCOL_FRENCH_COLLATION) == UCOL_ON && strength == 1)
    return {ErrorCode::kBadValue, "'backwards' is invalid with 'strength' of 1"};
  const bool caseFirst = attribute(rules, UCOL_CASE_FIRST) != UCOL_OFF;
  if (caseFirst && attribute(rules, UCOL_CASE_LEVEL) != UCOL_ON && strength < 3)
    return {ErrorCode::kBadValue, "'caseFirst' is invalid unless 'caseLevel' is on or 'strength' is greater than 2"};
  return {};
}

/// The rules of a locale; BadValue where ICU does not know it, or knows it under another name.
StatusWith<std::unique_ptr<icu::Collator>> rulesOf(const std::string& locale, View specification) {
  const auto unknown = [&] {
    return Status(ErrorCode::kBadValue, "Field 'locale' is invalid in: " + toRelaxedJson(specification));
  };
  if (locale.empty() || locale.find('\0') != std::string::npos) return unknown();
  const icu::Locale requested = icu::Locale::createFromName(locale.c_str());
  if (requested.isBogus() || locale != requested.getName()) return unknown();
  UErrorCode error = U_ZERO_ERROR;
  std::unique_ptr<icu::Collator> rules(icu::Collator::createInstance(requested, error));
  if (U_FAILURE(error) || !rules) return unknown();
  const icu::Locale known = rules->getLocale(ULOC_VALID_LOCALE, error);
  // Regions without rules of their own fall back to their language; an unknown language falls back to the root.
  if (U_FAILURE(error) || std::string_view(known.getLanguage()) != requested.getLanguage()) return unknown();
  return rules;
}

void replaceStrings(Builder& b, View document, const Collator& collator);

void replaceString(Builder& b, const Element& e, const Collator& collator) {
  switch (e.type()) {
    case Type::kString:
    case Type::kSymbol: b.append(e.name(), collator.comparisonKey(e.asString())); break;
    case Type::kDocument:
    case Type::kArray:
      e.is(Type::kArray) ? b.openArray(e.name()) : b.openDocument(e.name());
      replaceStrings(b, e.asDocument(), collator);
      b.close();
      break;
    default: b.append(e);
  }
}

void replaceStrings(Builder& b, View document, const Collator& collator) {
  for (const Element& e : document) replaceString(b, e, collator);
}

}  // namespace

Collator::Collator(std::unique_ptr<Icu> icu, Document specification)
    : icu_(std::move(icu)), specification_(std::move(specification)) {}
Collator::~Collator() = default;

StatusWith<std::shared_ptr<const Collator>> Collator::parse(View specification) {
  const Element locale = specification["locale"];
  if (!locale.ok())
    return {ErrorCode::kMissingRequiredField, "BSON field 'collation.locale' is missing but a required field"};
  if (!locale.is(Type::kString)) return wrongType(locale, "string");
  if (locale.asString() == "simple") {
    // Other fields say nothing here, but have to be well-formed.
    TROUPE_ASSIGN(auto unused, rulesOf("en", specification));
    Reader reader(*unused);
    for (const Element& e : specification) TROUPE_TRY(reader.read(e));
    return std::shared_ptr<const Collator>();
  }
  TROUPE_ASSIGN(auto rules, rulesOf(std::string(locale.asString()), specification));
  Reader reader(*rules);
  for (const Element& e : specification) TROUPE_TRY(reader.read(e));
  TROUPE_TRY(checkCombination(*rules));
  Document full = describe(*rules, locale.asString());
  return std::shared_ptr<const Collator>(new Collator(std::make_unique<Icu>(Icu{std::move(rules)}), std::move(full)));
}

int Collator::compare(std::string_view a, std::string_view b) const {
  UErrorCode error = U_ZERO_ERROR;
  return icu_->rules->compareUTF8(icu::StringPiece(a.data(), static_cast<int32_t>(a.size())),
                                  icu::StringPiece(b.data(), static_cast<int32_t>(b.size())), error);
}

std::string Collator::comparisonKey(std::string_view text) const {
  std::string key;
  appendComparisonKey(text, key);
  return key;
}

void Collator::appendComparisonKey(std::string_view text, std::string& out) const {
  const auto utf16 = icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
  uint8_t buffer[256];
  const int32_t size = icu_->rules->getSortKey(utf16, buffer, sizeof buffer);  // counts the closing NUL
  if (size <= static_cast<int32_t>(sizeof buffer)) {
    out.append(reinterpret_cast<const char*>(buffer), static_cast<size_t>(size - 1));
    return;
  }
  const size_t before = out.size();
  out.resize(before + static_cast<size_t>(size));
  icu_->rules->getSortKey(utf16, reinterpret_cast<uint8_t*>(out.data() + before), size);
  out.pop_back();
}

bool Collator::same(const Collator* a, const Collator* b) {
  return a == b || (a && b && a->specification_ == b->specification_);
}

Value withComparisonKeys(const Element& value, const Collator& collator) {
  if (!value.ok()) return Value(value);
  Builder b;
  replaceString(b, value, collator);
  return Value(b.finish().view().first());
}

}  // namespace troupe::bson
