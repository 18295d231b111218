#include "actors/commands/session_arguments.hpp"

#include <string>

namespace troupe::commands {

StatusWith<std::vector<bson::View>> documentsOf(const Request& request, std::string_view what) {
  const bson::Element list = request.body().first();
  if (!list.is(bson::Type::kArray)) {
    return Status(ErrorCode::kTypeMismatch, "BSON field '" + std::string(list.name()) + "' is the wrong type '" +
                                                std::string(bson::typeName(list.type())) + "', expected type 'array'");
  }
  std::vector<bson::View> documents;
  for (const bson::Element& e : list.asArray()) {
    if (!e.is(bson::Type::kDocument)) return Status(ErrorCode::kTypeMismatch, std::string(what));
    documents.push_back(e.asDocument());
  }
  return documents;
}

StatusWith<std::vector<bson::View>> namedSessions(const Request& request) {
  TROUPE_ASSIGN(auto sessions, documentsOf(request, "each session must be a document {id: UUID}"));
  for (const bson::View lsid : sessions) TROUPE_TRY(SessionKey::idOf(lsid).status());
  return sessions;
}

}  // namespace troupe::commands
