#pragma once
#include <string_view>

namespace troupe {

/// The version of this project, which its programs show.
inline constexpr std::string_view kTroupeVersion = "0.1.0";

}  // namespace troupe
