#pragma once
#include "storage/query/plan/plan_stage.hpp"

namespace troupe::query {

/// Whether a filter's value for `_id` is a plain value that the `_id` index or cluster key finds exactly, so that
/// nothing is left to match.
bool isIdLookup(const bson::Element& id, const storage::Collection& collection, const bson::Collator* collator);

/// The record found by an `_id`. The document is borrowed: from this, and from the unit's snapshot.
struct IdMatch {
  bool keyFound = false;
  storage::RecordId id;
  storage::Session::CursorLease record = {};  ///< stands on the record; empty when there is none
  bson::View document() const { return bson::View(record->value().data()); }
};

/// One key, one record: all that a point query has to do. IdLookup does it as a stage of a plan; a command that wants
/// the one document and no plan calls it itself.
StatusWith<IdMatch> matchById(const storage::Collection& collection, storage::RecoveryUnit& unit,
                              const bson::Element& id);

/// IDHACK (of a clustered collection CLUSTERED_IXSCAN): the one document with an `_id`. The fastest plan there is: it
/// allocates nothing for short ids.
class IdLookup final : public PlanStage {
 public:
  /// Takes a copy of the id. `filter`, if there is one, is what else the document must pass.
  IdLookup(PlanContext& plan, const bson::Element& id, const MatchExpression* filter = nullptr)
      : PlanStage(plan), id_(id), filter_(filter) {}
  std::string_view name() const override;
  bson::Element id() const { return id_.element(); }

 protected:
  StatusWith<Step> advance(Row& row) override;
  void onSave() override { match_ = {}; }
  void describe(bson::Builder& out, bool counters) const override;
  const RowFilter* shownFilter() const override { return &filter_; }

 private:
  bson::Value id_;
  RowFilter filter_;
  bool done_ = false;
  IdMatch match_;
  int64_t keys_ = 0, documents_ = 0;
};

}  // namespace troupe::query
