#include "actors/commands/session_arguments.hpp"

#include <string>

#include "messaging/errors/co_status.hpp"

namespace troupe::commands {

StatusWith<bson::View> ownArray(const Request& request) {
  const bson::Element list = request.body().first();
  if (list.is(bson::Type::kArray)) return bson::View(list.asArray());
  return Status(ErrorCode::kTypeMismatch, "BSON field '" + std::string(list.name()) + "' is the wrong type '" +
                                              std::string(bson::typeName(list.type())) + "', expected type 'array'");
}

StatusWith<bson::View> documentIn(const bson::Element& element, std::string_view what) {
  if (!element.is(bson::Type::kDocument)) return Status(ErrorCode::kTypeMismatch, std::string(what));
  return element.asDocument();
}

Task<Status> eachDocument(Request& request, std::string_view what, const std::function<Status(bson::View)>* visit) {
  TROUPE_CO_ASSIGN(const bson::View list, ownArray(request));
  Steps steps;
  for (const bson::Element& e : list) {
    TROUPE_CO_ASSIGN(const bson::View document, documentIn(e, what));
    TROUPE_CO_TRY((*visit)(document));
    if (steps.areMany()) TROUPE_CO_TRY(co_await request.yield());
  }
  co_return Status::OK();
}

Task<Status> eachSession(Request& request, const std::function<Status(bson::View)>* visit) {
  constexpr std::string_view kWhat = "each session must be a document {id: UUID}";
  const std::function<Status(bson::View)> check = [](bson::View lsid) { return SessionKey::idOf(lsid).status(); };
  TROUPE_CO_TRY(co_await eachDocument(request, kWhat, &check));
  co_return co_await eachDocument(request, kWhat, visit);
}

}  // namespace troupe::commands
