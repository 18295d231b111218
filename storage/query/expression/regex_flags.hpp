#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "messaging/errors/status.hpp"

namespace troupe::query {

/// PCRE2's flags for options out of "imsxu"; patterns are UTF-8. `name`: begins the error text; may be empty.
/// Errors: 51108 (unknown option).
StatusWith<uint32_t> regexFlags(std::string_view options, const std::string& name);

}  // namespace troupe::query
