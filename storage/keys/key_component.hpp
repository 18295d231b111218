#pragma once
#include <cstddef>
#include <string_view>

namespace troupe::storage::key_string {

/// Size in bytes of the first component of a key (or of what is left of one); 0 at the end byte, and where the bytes
/// are no component. `descending`: the component is inverted.
size_t componentSize(std::string_view bytes, bool descending);

/// Orders two encoded components of one field as memcmp orders keys that contain them: -1, 0 or 1.
int compareComponents(std::string_view a, std::string_view b);

}  // namespace troupe::storage::key_string
