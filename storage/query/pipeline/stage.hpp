#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/query/expression/expression.hpp"
#include "storage/query/query_work.hpp"

namespace troupe::query {

/// Outcome of one pull from a stage. The document and its metadata are borrowed: valid until the next call of `next` on
/// the same stage.
struct Next {
  enum class Kind : uint8_t {
    kDocument,
    kEnd,    ///< nothing more will come
    kYield,  ///< nothing now: let others run, then call `next` again (a source's time slice ended, or it has to wait)
  };
  Kind kind = Kind::kEnd;
  bson::View document;
  /// What `$meta` reads of the document, by its names: `{score: 0.5, scoreDetails: {...}}`. Empty for most.
  bson::View metadata{};

  static Next of(bson::View document, bson::View metadata = {}) { return {Kind::kDocument, document, metadata}; }
  static Next end() { return {}; }
  static Next yield() { return {Kind::kYield, {}, {}}; }
  bool isDocument() const { return kind == Kind::kDocument; }
  bool isEnd() const { return kind == Kind::kEnd; }
};

/// Where a stage may stand in a pipeline.
struct StageTraits {
  bool source = false;          ///< produces documents itself; must be the first stage, and no collection is scanned
  bool last = false;            ///< must be the last stage ($out, $merge)
  bool writes = false;          ///< writes to a collection
  bool blocking = false;        ///< reads all of its input before its first result
  bool inFacet = true;          ///< allowed within $facet
  bool collectionless = false;  ///< a source for `aggregate: 1`
  bool preservesCount = false;  ///< one result for each input, in order ($project, $addFields ...)
};

/// One stage of a running pipeline: pulls from the stage before it. Used by one thread at a time. A failure ends it.
class Stage {
 public:
  virtual ~Stage() = default;
  /// The next result. Errors: those of expressions, of the source, QueryExceededMemoryLimitNoDiskUseAllowed (292).
  virtual StatusWith<Next> next() = 0;
  /// "$match" ...
  virtual std::string_view name() const = 0;
  /// Appends `{$name: specification}` in its parsed form to an open array (explain, views).
  virtual void serialize(bson::Builder& stages) const = 0;
  virtual StageTraits traits() const { return {}; }
  /// Adds the fields that the stage reads of its input; returns false when it drops all others ($group, inclusion
  /// $project), true when unread fields flow through.
  virtual bool addDependencies(Dependencies& dependencies) const {
    dependencies.wholeDocument = true;
    return true;
  }
  /// Called once after parsing, of a $group that reads a collection and whose results another stage reads.
  virtual void handOnResults() {}
  /// Releases resources of the source (cursors, snapshots) while the client fetches the next batch, and takes them
  /// again.
  virtual void save() {
    if (input_) input_->save();
  }
  virtual Status restore() { return input_ ? input_->restore() : Status::OK(); }

  /// The stage that feeds this one, owned by the pipeline, and the operation they work for; both may be null.
  void setInput(Stage* input, QueryWork* work) {
    input_ = input;
    operation_ = work;
    inputMemory_ = HeldMemory(work);
  }

 protected:
  /// The next document of the input, which holds it until the next pull: its memory is charged here for all stages, and
  /// each pull is a step, so that a stage which drops what it gets ends when its operation has to.
  StatusWith<Next> pull() {
    if (!input_) return Next::end();
    if (operation_) TROUPE_TRY(operation_->step());
    auto next = input_->next();
    if (next.isOK() && next->isDocument())
      TROUPE_TRY(inputMemory_.set(int64_t{next->document.size()} + next->metadata.size()));
    return next;
  }
  Stage* input_ = nullptr;

 private:
  QueryWork* operation_ = nullptr;
  HeldMemory inputMemory_{nullptr};
};

using StagePtr = std::unique_ptr<Stage>;

}  // namespace troupe::query
