// planCacheSetFilter, planCacheListFilters, planCacheClearFilters, planCacheClear: what operators decide about plans.
#include "actors/commands/families.hpp"
#include "actors/commands/query_support.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/project/projection.hpp"
#include "storage/query/shape/query_shape.hpp"
#include "storage/query/sort/sort_pattern.hpp"

namespace troupe::commands {
using namespace server;

namespace {

/// The shape that a command's query, sort, projection and collation have.
struct GivenShape {
  bson::View query, sort, projection, collation;
  std::string shape;
};

StatusWith<bson::View> optionalDocument(const Request& request, std::string_view name) {
  const bson::Element e = request.fields()[name];
  if (!e) return bson::View();
  if (!e.isObjectLike()) return Status(ErrorCode::kBadValue, "the field '" + std::string(name) + "' must be an object");
  return e.asDocument();
}

StatusWith<bson::View> collationOf(const Request& request) {
  const bson::Element e = request.fields()["collation"];
  if (!e) return bson::View();
  if (!e.is(bson::Type::kDocument) || e.asDocument().empty())
    return Status(ErrorCode::kBadValue, "the field 'collation' must be an object that is not empty");
  return e.asDocument();
}

/// Reads the query shape of a command on an existing collection. Errors: BadValue for fields of other types, those of
/// parsing the query.
StatusWith<GivenShape> shapeOf(const Request& request, const storage::CollectionPtr& collection) {
  GivenShape given;
  const bson::Element query = request.fields()["query"];
  if (!query.isObjectLike()) return Status(ErrorCode::kBadValue, "the field 'query' is required and must be an object");
  given.query = query.asDocument();
  TROUPE_ASSIGN(given.sort, optionalDocument(request, "sort"));
  TROUPE_ASSIGN(given.projection, optionalDocument(request, "projection"));
  TROUPE_ASSIGN(given.collation, collationOf(request));
  QueryResources resources(request.server(), request.operation());
  resources.collection = collection;
  TROUPE_TRY(prepareContext(resources, request, given.collation, {}));
  TROUPE_ASSIGN(const auto filter, query::parseMatch(given.query, resources.context));
  bson::Document sort;
  if (!given.sort.empty()) {
    TROUPE_ASSIGN(const auto pattern, query::SortPattern::parse(given.sort, resources.context));
    sort = pattern.toBson();
  }
  if (!given.projection.empty())
    TROUPE_TRY(query::parseProjection(given.projection, filter.get(), resources.context).status());
  TROUPE_ASSIGN(given.shape, query::planShape({.filter = filter.get(), .sort = sort, .projection = given.projection},
                                              resources.context));
  return given;
}

/// The collection the command names; null when it does not exist. Errors: CommandNotSupportedOnView.
StatusWith<storage::CollectionPtr> plannedCollection(Request& request) {
  TROUPE_ASSIGN(const auto ns, request.target());
  TROUPE_ASSIGN(const CatalogReader catalog, openCatalogView(request));
  TROUPE_ASSIGN(auto collection, catalog.find(ns));
  if (collection && collection->isView())
    return Status(ErrorCode::kCommandNotSupportedOnView, ns.toString() + " is a view: plans are made for collections");
  return collection;
}

/// Whether the command names a query shape; sort, projection and collation alone are none. Errors: BadValue.
StatusWith<bool> namesShape(const Request& request) {
  if (request.arg("query")) return true;
  for (const auto name : {"sort", "projection", "collation"}) {
    if (request.arg(name))
      return Status(ErrorCode::kBadValue, "'" + std::string(name) +
                                              "' is given without 'query', which has to name a "
                                              "shape together with it");
  }
  return false;
}

/// Every plan of the shape looks through them.
constexpr int kMostIndexes = storage::kMaxIndexesPerCollection;

StatusWith<bson::View> indexesOf(const Request& request) {
  const bson::Element e = request.fields()["indexes"];
  if (!e.is(bson::Type::kArray) || e.asArray().empty())
    return Status(ErrorCode::kBadValue, "the field 'indexes' is required and must be an array that is not empty");
  if (e.asArray().count() > kMostIndexes)
    return Status(ErrorCode::kBadValue, "the field 'indexes' may name at most " + std::to_string(kMostIndexes) +
                                            " indexes, as many as a collection has");
  for (const bson::Element& index : e.asArray()) {
    const bool isKey = index.is(bson::Type::kDocument) && !index.asDocument().empty();
    if (!isKey && !index.is(bson::Type::kString))
      return Status(ErrorCode::kBadValue, "each element of 'indexes' must be an index key or the name of an index");
  }
  return e.asArray();
}

Task<Status> setFilter(Request& request) {
  TROUPE_CO_ASSIGN(const auto collection, plannedCollection(request));
  if (!collection) co_return Status(ErrorCode::kBadValue, "no such collection");
  TROUPE_CO_ASSIGN(const auto indexes, indexesOf(request));
  TROUPE_CO_ASSIGN(auto given, shapeOf(request, collection));
  query::IndexFilter filter;
  filter.query = bson::Document(given.query);
  filter.sort = bson::Document(given.sort);
  filter.projection = bson::Document(given.projection);
  filter.collation = bson::Document(given.collation);
  filter.indexes = bson::Document(indexes);
  co_return request.server().indexFilters.set(*collection, std::move(given.shape), std::move(filter));
}

Task<Status> listFilters(Request& request) {
  TROUPE_CO_ASSIGN(const auto collection, plannedCollection(request));
  request.reply().openArray("filters");
  if (collection) {
    for (const auto& filter : request.server().indexFilters.list(*collection)) {
      request.reply().pushDocument();
      request.reply().append("query", filter->query).append("sort", filter->sort);
      request.reply().append("projection", filter->projection);
      if (!filter->collation.view().empty()) request.reply().append("collation", filter->collation);
      request.reply().appendArray("indexes", filter->indexes).close();
    }
  }
  request.reply().close();
  co_return Status::OK();
}

Task<Status> clearFilters(Request& request) {
  TROUPE_CO_ASSIGN(const auto collection, plannedCollection(request));
  if (!collection) co_return Status::OK();
  TROUPE_CO_ASSIGN(const bool one, namesShape(request));
  query::IndexFilters& filters = request.server().indexFilters;
  if (!one) {
    filters.clearAll(*collection);
    co_return Status::OK();
  }
  TROUPE_CO_ASSIGN(const auto given, shapeOf(request, collection));
  filters.clear(*collection, given.shape);
  co_return Status::OK();
}

/// Every query is planned anew: there are no plans to forget, but what is asked is checked all the same.
Task<Status> clearPlans(Request& request) {
  TROUPE_CO_ASSIGN(const auto collection, plannedCollection(request));
  if (!collection) co_return Status::OK();
  TROUPE_CO_ASSIGN(const bool one, namesShape(request));
  if (one) TROUPE_CO_TRY(shapeOf(request, collection).status());
  co_return Status::OK();
}

constexpr Command kPlanCacheCommands[] = {
    {.name = "planCacheSetFilter",
     .summary = "allows only some indexes for the queries of a shape",
     .requirement = {Requirement::Target::kCollection, auth::Action::kPlanCacheIndexFilter},
     .access = Access::kRead,
     .namesCollection = true,
     .arguments = kNamedFreely,
     .run = setFilter},
    {.name = "planCacheListFilters",
     .summary = "the index filters of a collection",
     .requirement = {Requirement::Target::kCollection, auth::Action::kPlanCacheIndexFilter},
     .access = Access::kRead,
     .namesCollection = true,
     .arguments = kNamedFreely,
     .run = listFilters},
    {.name = "planCacheClearFilters",
     .summary = "removes the index filter of a query shape, or all of a collection",
     .requirement = {Requirement::Target::kCollection, auth::Action::kPlanCacheIndexFilter},
     .access = Access::kRead,
     .namesCollection = true,
     .arguments = kNamedFreely,
     .run = clearFilters},
    {.name = "planCacheClear",
     .summary = "forgets the plans of a query shape, or all of a collection; none are kept",
     .requirement = {Requirement::Target::kCollection, auth::Action::kPlanCacheWrite},
     .access = Access::kRead,
     .namesCollection = true,
     .arguments = kNamedFreely,
     .run = clearPlans},
};

}  // namespace

std::span<const Command> planCacheCommands() { return kPlanCacheCommands; }

}  // namespace troupe::commands
