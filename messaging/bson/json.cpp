#include "messaging/bson/json.hpp"

#include <bson/bson.h>

#include <memory>
#include <stdexcept>

namespace troupe::bson {
namespace {

struct Release {
  void operator()(char* text) const { bson_free(text); }
};

using Writer = char* (*)(const bson_t*, size_t*);

std::string write(View document, Writer writer) {
  bson_t wire;
  if (!bson_init_static(&wire, reinterpret_cast<const uint8_t*>(document.data()), document.size())) return "{}";
  size_t size = 0;
  const std::unique_ptr<char, Release> text(writer(&wire, &size));
  // libbson gives up on strings that are not UTF-8.
  return text ? std::string(text.get(), size) : "{ \"$notUtf8\" : " + std::to_string(document.size()) + " }";
}

}  // namespace

std::string toRelaxedJson(View document) { return write(document, &bson_as_relaxed_extended_json); }
std::string toCanonicalJson(View document) { return write(document, &bson_as_canonical_extended_json); }

std::string toRelaxedJson(const Element& value) {
  if (!value.ok()) return "missing";
  constexpr std::string_view kBefore = "{ \"\" : ", kAfter = " }";
  const std::string text = toRelaxedJson(doc("", value));
  if (!text.starts_with(kBefore)) return text;
  return text.substr(kBefore.size(), text.size() - kBefore.size() - kAfter.size());
}

StatusWith<Document> fromJson(std::string_view json) {
  // libbson 1.23 loses the names of these inside arrays: it reads them from memory it has given back.
  for (const char* type : {"\"$dbPointer\"", "\"$code\""}) {
    if (json.find(type) != std::string_view::npos)
      return {ErrorCode::kFailedToParse, std::string("invalid JSON: ") + type + " is not supported"};
  }
  bson_error_t error{};
  bson_t* wire =
      bson_new_from_json(reinterpret_cast<const uint8_t*>(json.data()), static_cast<ssize_t>(json.size()), &error);
  if (!wire) return {ErrorCode::kFailedToParse, std::string("invalid JSON: ") + error.message};
  Document document(View(reinterpret_cast<const char*>(bson_get_data(wire))));
  bson_destroy(wire);
  return document;
}

Document operator""_json(const char* text, size_t size) {
  auto parsed = fromJson({text, size});
  if (!parsed.isOK()) throw std::invalid_argument(parsed.status().toString());
  return std::move(parsed).value();
}

}  // namespace troupe::bson
