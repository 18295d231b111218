#include "storage/query/expression/regex_flags.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace troupe::query {

StatusWith<uint32_t> regexFlags(std::string_view options, const std::string& name) {
  uint32_t flags = PCRE2_UTF;
  for (const char c : options) {
    switch (c) {
      case 'i': flags |= PCRE2_CASELESS; break;
      case 'm': flags |= PCRE2_MULTILINE; break;
      case 's': flags |= PCRE2_DOTALL; break;
      case 'x': flags |= PCRE2_EXTENDED; break;
      case 'u': break;
      default: return Status(ErrorCode(51108), name + " invalid flag in regex options: " + c);
    }
  }
  return flags;
}

}  // namespace troupe::query
