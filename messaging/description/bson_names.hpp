#pragma once
#include <string_view>

/// Names of the fields that the archive of documents adds.
namespace troupe::machines {

inline constexpr std::string_view kVersionField = "version";
inline constexpr std::string_view kTypeField = "type";

/// The name of a described field in a document.
inline std::string_view documentName(const char* field) {
  const std::string_view name = field;
  return name == "id" ? "_id" : name;
}

}  // namespace troupe::machines
