#include "test/cases/memory_collections.hpp"

#include "messaging/bson/compare.hpp"
#include "storage/query/match/match_parser.hpp"

namespace troupe::cases {

using bson::Document;
using query::CollectionName;
using query::Next;
using query::StagePtr;

namespace {

class MemoryOut final : public query::OutWriter {
 public:
  MemoryOut(MemoryCollections& collections, std::string name) : collections_(collections), name_(std::move(name)) {}
  Status insert(bson::View document) override {
    rows_.emplace_back(document);
    return Status::OK();
  }
  Status finish() override {
    collections_.collections[name_] = std::move(rows_);
    return Status::OK();
  }

 private:
  MemoryCollections& collections_;
  std::string name_;
  std::vector<Document> rows_;
};

}  // namespace

StatusWith<Next> MemoryRows::next() {
  yields_ = !yields_;
  if (!yields_) return Next::yield();
  return at_ < rows_.size() ? Next::of(rows_[at_++].view()) : Next::end();
}

StatusWith<StagePtr> MemoryCollections::scan(const CollectionName& from, const query::PushDown& request) {
  TROUPE_ASSIGN(const auto filter, query::parseMatch(request.filter, *request.parse));
  std::vector<Document> found;
  for (const Document& document : collections[from.collection])
    if (filter->matches(document)) found.push_back(document);
  return StagePtr(std::make_unique<MemoryRows>(std::move(found)));
}

StatusWith<StagePtr> MemoryCollections::openSource(const CollectionName&, const bson::Element& specification) {
  return StagePtr(std::make_unique<MemoryRows>(std::vector<Document>{bson::doc("source", specification.name())}));
}

StatusWith<std::unique_ptr<query::OutWriter>> MemoryCollections::openOut(const CollectionName& target) {
  return std::unique_ptr<query::OutWriter>(std::make_unique<MemoryOut>(*this, target.collection));
}

StatusWith<query::UniqueIndex> MemoryCollections::uniqueIndex(const CollectionName&,
                                                              const std::vector<std::string>& fields) {
  if (fields == std::vector<std::string>{"_id"}) return query::UniqueIndex::kWhole;
  return fields == std::vector<std::string>{"sparse"} ? query::UniqueIndex::kWithoutNull : query::UniqueIndex::kNone;
}

StatusWith<bool> MemoryCollections::modifyOne(const CollectionName& in, bson::View query, const Change& change) {
  TROUPE_ASSIGN(const auto filter, query::parseMatch(query, {}));
  for (Document& document : collections[in.collection]) {
    if (!filter->matches(document)) continue;
    TROUPE_ASSIGN(auto changed, change(document));
    if (changed) document = std::move(*changed);
    return true;
  }
  return false;
}

Status MemoryCollections::insert(const CollectionName& into, bson::View document) {
  std::vector<Document>& rows = collections[into.collection];
  for (const Document& row : rows)
    if (bson::compareValues(row["_id"], document["_id"]) == 0) return {ErrorCode::kDuplicateKey, "E11000"};
  rows.emplace_back(document);
  return Status::OK();
}

}  // namespace troupe::cases
