#include "messaging/description/boost_archive.hpp"

#include "messaging/bson/validate.hpp"

namespace troupe::machines {

bson::Document detail::checkedDocument(std::string bytes) {
  const auto size = bson::validate(bytes);
  if (!size.isOK()) throw std::invalid_argument(size.status().toString());
  if (static_cast<size_t>(*size) != bytes.size()) throw std::invalid_argument("bytes behind the document");
  return bson::Document(bson::View(bytes.data()));
}

}  // namespace troupe::machines
