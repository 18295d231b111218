#include "actors/replication/collection_cloner.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "actors/replication/detached_work.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/oplog/copied_data.hpp"

namespace troupe::replication {

using storage::CollectionLoad;
using storage::CollectionPtr;
using storage::IndexBuilder;
using storage::IndexSpec;
using storage::LockMode;
using storage::RecoveryUnit;

namespace {

/// Where the actors run that fill collections.
constexpr std::string_view kLoadPath = "/node/replication/load-";
/// Documents that an index build scans before others have their turn.
constexpr int kDocumentsOfAStep = 500;
/// That sort and write indexes at a time.
constexpr size_t kMostThreads = 4;

std::optional<bson::Uuid> uuidIn(const bson::Element& element) {
  if (!element.is(bson::Type::kBinary)) return std::nullopt;
  const auto binary = element.asBinary();
  bson::Uuid uuid;
  if (binary.subtype != bson::kBinaryUuid || binary.bytes.size() != uuid.bytes.size()) return std::nullopt;
  std::copy(binary.bytes.begin(), binary.bytes.end(), uuid.bytes.begin());
  return uuid;
}

Status noRow(std::string_view what) {
  return {ErrorCode::kFailedToParse, "the source lists " + std::string(what) + " in a way that is not known"};
}

size_t bytesOf(std::span<const bson::View> documents) {
  size_t bytes = 0;
  for (const bson::View each : documents) bytes += each.size();
  return bytes;
}

/// Reads the newest data also of a source that is a secondary.
bson::Document fromAnyMember() { return bson::doc("mode", "secondaryPreferred"); }

}  // namespace

StatusWith<ListedCollection> ListedCollection::parse(std::string_view database, bson::View row) {
  const std::string_view name = row["name"].toStringOr(), type = row["type"].toStringOr();
  const bson::Element options = row["options"], info = row["info"];
  if (name.empty() || !options.is(bson::Type::kDocument) || !info.is(bson::Type::kDocument))
    return noRow("the collections of " + std::string(database));
  ListedCollection listed{storage::Namespace(database, name), {}};
  TROUPE_ASSIGN(listed.options, storage::parseCollectionOptions(options.asDocument(), true));
  if (type == "view") return listed;
  listed.options.uuid = uuidIn(info.asDocument()["uuid"]);
  if (!listed.options.uuid) return noRow("the UUID of " + listed.ns.toString());
  return listed;
}

bson::Date CollectionCloner::wallNow() const {
  const auto wall = attempt_->parts.node->environment().wallNow().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(wall).count()};
}

Task<Status> CollectionCloner::write(LockMode mode, Body body, std::optional<size_t> bytes) const {
  return writeCopied(attempt_, {listed_.ns, mode, bytes}, std::move(body));
}

/// A collection that is renamed meanwhile is found by its UUID; one that is dropped is not, which is no failure.
Task<Status> CollectionCloner::run() {
  const auto self = shared_from_this();
  TROUPE_CO_TRY((co_await makeCollection()).withContext("cannot make " + nameOfIt()));
  if (listed_.options.isView()) co_return Status::OK();
  co_await countOnSource();
  const Status copied = co_await copyContents();
  const bool isGone = copied == ErrorCode::kNamespaceNotFound;
  if (!copied.isOK() && !isGone) co_return copied.withContext("cannot copy " + nameOfIt());
  if (isGone && attempt_->parts.note)
    attempt_->parts.note("A collection was dropped while it was copied", bson::doc("ns", nameOfIt()));
  const CollectionPtr made = attempt_->parts.catalog->snapshot()->find(*listed_.options.uuid);
  attempt_->parts.status->endCollection(std::string(listed_.ns.db()), nameOfIt(),
                                        made ? static_cast<int64_t>(made->indexes().size()) : 0, wallNow());
  co_return Status::OK();
}

Task<Status> CollectionCloner::makeCollection() {
  Body body = creating();
  co_return co_await write(LockMode::kX, std::move(body));
}

/// One of its UUID was made by an earlier run, or listed twice because it has moved to another database: the log says
/// to which.
CollectionCloner::Body CollectionCloner::creating() const {
  return
      [this](RecoveryUnit& unit) { return createCopied(*attempt_->parts.catalog, unit, listed_.ns, listed_.options); };
}

/// What cannot be counted counts as nothing.
Task<void> CollectionCloner::countOnSource() {
  const std::string database(listed_.ns.db());
  bson::Document command = bson::doc("collStats", listed_.ns.collection(), "$readPreference", fromAnyMember());
  const auto counted = co_await askSource(attempt_, database, std::move(command));
  const int64_t documents = counted.isOK() ? counted->view()["count"].toInt64() : 0;
  const int64_t bytes = counted.isOK() ? counted->view()["size"].toInt64() : 0;
  attempt_->parts.status->beginCollection(database, nameOfIt(), documents, bytes, wallNow());
  onSource_ = documents;
}

/// Indexes are listed first: one that is made later is in the log.
Task<Status> CollectionCloner::copyContents() {
  ListedIndexes listed;
  if (attempt_->parts.catalog->makesIndexesOf(listed_.ns)) {
    TROUPE_CO_ASSIGN(listed, co_await listIndexes());
  }
  SourcePatience patience(attempt_);
  for (;;) {
    const Status all = co_await copyOnce(&patience, listed.finished);
    if (all.isOK()) break;
    TROUPE_CO_TRY(co_await patience.wait(all));
  }
  co_return co_await beginUnfinished(std::move(listed.unfinished));
}

Task<Status> CollectionCloner::copyOnce(SourcePatience* patience, std::vector<IndexSpec> specs) {
  if (!builder_ && !load_) TROUPE_CO_TRY(co_await beginLoad(missing(specs)));
  Status copied = co_await readAll(patience);
  if (!copied.isOK() && !position_.empty()) co_return copied;
  if (copied.isOK() && load_) copied = co_await endLoad();
  if (!copied.isOK()) {
    if (load_) TROUPE_CO_TRY(co_await discardLoad());
    co_return copied;
  }
  if (!builder_) co_return co_await build(missing(std::move(specs)));
  builder_->takeUp(*listed_.options.uuid);
  Body commit = committing(*builder_);
  co_return co_await write(LockMode::kX, std::move(commit));
}

/// What cannot be filled is written to in units of work, which keep up the indexes that were begun.
Task<Status> CollectionCloner::beginLoad(std::vector<IndexSpec> specs) {
  const CopyParts& parts = attempt_->parts;
  const CollectionPtr made = parts.catalog->snapshot()->find(*listed_.options.uuid);
  if (!made || onSource_ < parts.loadFrom || made->records().count() > 0) co_return Status::OK();
  if (!specs.empty()) {
    builder_.emplace(*parts.catalog, listed_.ns, std::move(specs));
    Body start = starting(*builder_);
    TROUPE_CO_TRY(co_await write(LockMode::kX, std::move(start)));
  }
  std::function<Status()> begin = beginning();
  const Status begun = co_await blocking("begin", std::move(begin));
  const bool isOrdinary = begun == ErrorCode::kIllegalOperation || begun == ErrorCode::kObjectIsBusy;
  co_return isOrdinary ? Status::OK() : begun;
}

std::function<Status()> CollectionCloner::beginning() {
  return [self = shared_from_this()]() -> Status {
    const CopyParts& parts = self->attempt_->parts;
    TROUPE_ASSIGN(auto load, CollectionLoad::begin(*parts.catalog, *self->listed_.options.uuid, parts.maxKeyBytes));
    self->load_ = std::move(load);
    return Status::OK();
  };
}

Task<Status> CollectionCloner::endLoad() {
  std::function<Status()> finish = finishing();
  TROUPE_CO_TRY(co_await blocking("end", std::move(finish)));
  TROUPE_CO_TRY(co_await finishIndexes());
  Body remove = removingReplaced();
  TROUPE_CO_TRY(co_await write(LockMode::kIX, std::move(remove)));
  load_.reset();
  co_return Status::OK();
}

std::function<Status()> CollectionCloner::finishing() {
  return [self = shared_from_this()] { return self->load_->finishRecords(); };
}

/// No thread uses the load any more when this has ended, also after a failure of one.
Task<Status> CollectionCloner::finishIndexes() {
  TROUPE_CO_ASSIGN(const auto writing, co_await SyncAttempt::Writing::begin(attempt_, load_->keyBytes()));
  std::vector<Future<Status>> threads = finishingIndexes();
  Status outcome = Status::OK();
  for (auto& thread : threads) {
    const Status ended = co_await thread;
    if (outcome.isOK()) outcome = ended;
  }
  co_return outcome;
}

/// Each thread takes the next index that no other has taken.
std::vector<Future<Status>> CollectionCloner::finishingIndexes() {
  const auto next = std::make_shared<std::atomic<size_t>>(0);
  const auto finishThem = [self = shared_from_this(), next]() -> Status {
    const size_t count = self->load_->indexes();
    Status outcome = Status::OK();
    for (size_t index = (*next)++; index < count && outcome.isOK(); index = (*next)++)
      outcome = self->load_->finishIndex(index);
    if (!outcome.isOK()) *next = count;  // the collection is dropped: no other index is begun
    return outcome;
  };
  std::vector<Future<Status>> threads;
  for (size_t i = 0; i < std::min(load_->indexes(), kMostThreads); ++i)
    threads.push_back(beginDetached(*attempt_->parts.node, pathOf("index"), finishThem));
  return threads;
}

CollectionCloner::Body CollectionCloner::removingReplaced() const {
  return [this](RecoveryUnit& unit) { return load_->removeReplaced(unit); };
}

Task<Status> CollectionCloner::discardLoad() {
  load_.reset();
  builder_.reset();
  position_ = {};  // what came before it goes with the collection
  Body drop = dropping();
  TROUPE_CO_TRY(co_await write(LockMode::kX, std::move(drop), std::nullopt));
  co_return co_await makeCollection();
}

CollectionCloner::Body CollectionCloner::dropping() const {
  return [this](RecoveryUnit& unit) { return storage::dropCopied(*attempt_->parts.catalog, unit, listed_.ns); };
}

/// Reads and writes of the disk, and the sorting of keys, on a thread of their own.
Task<Status> CollectionCloner::blocking(const char* what, std::function<Status()> work) {
  TROUPE_CO_ASSIGN(const auto writing, co_await SyncAttempt::Writing::begin(attempt_, 0));
  co_return co_await runDetached(*attempt_->parts.node, pathOf(what), std::move(work));
}

std::string CollectionCloner::pathOf(std::string_view what) const {
  return std::string(kLoadPath).append(listed_.options.uuid->toString()).append("-").append(what);
}

Task<Status> CollectionCloner::readAll(SourcePatience* patience) {
  const CopyParts& parts = attempt_->parts;
  const std::string database(listed_.ns.db());
  const auto source = co_await parts.members->read(attempt_->source, database, findFromPosition(), parts.credit);
  if (source.status() == ErrorCode::kKeyNotFound && !position_.empty()) {
    position_ = {};
    co_return Status(ErrorCode::kQueryPlanKilled, "the records of the source are no longer those of " + nameOfIt());
  }
  if (!source.isOK()) co_return source.status();
  for (;;) {
    if (parts.beforeStep) parts.beforeStep();
    TROUPE_CO_ASSIGN(auto batch, co_await (*source)->next());
    if (attempt_->isAbandoned()) co_return Status(ErrorCode::kInterrupted, "the attempt is over");
    if (batch.empty()) co_return Status::OK();
    patience->renew();
    bson::Document reached((*source)->resumeToken());
    const Status taken = co_await take(std::move(batch));
    position_ = taken.isOK() ? std::move(reached) : bson::Document();
    TROUPE_CO_TRY(taken);
  }
}

bson::Document CollectionCloner::findFromPosition() const {
  bson::Builder find;
  find.append("find", *listed_.options.uuid).append("hint", bson::doc("$natural", 1)).append("noCursorTimeout", true);
  find.append("$readPreference", fromAnyMember()).append("$_requestResumeToken", true);
  if (!position_.empty()) find.append("$_startAt", position_);
  return find.finish();
}

/// The views are valid until the next batch is asked for, which is when this has ended. What is left of a batch when
/// the keys are full is written in units of work.
Task<Status> CollectionCloner::take(std::vector<bson::View> documents) {
  if (!load_) co_return co_await writeBatch(std::move(documents));
  size_t taken = 0;
  while (taken < documents.size() && !load_->isFull()) {
    const auto next = std::span(documents).subspan(taken);
    const size_t end = taken + fitting(next);
    TROUPE_CO_ASSIGN(const auto writing,
                     co_await SyncAttempt::Writing::begin(attempt_, bytesOf(next.first(end - taken))));
    for (; taken < end && !load_->isFull(); ++taken) TROUPE_CO_TRY(load_->add(documents[taken]));
    co_await attempt_->parts.node->nextTurn();
  }
  noteBatch(std::span(documents).first(taken));
  if (!load_->isFull()) co_return Status::OK();
  TROUPE_CO_TRY(co_await endLoad());
  documents.erase(documents.begin(), documents.begin() + static_cast<std::ptrdiff_t>(taken));
  co_return co_await writeBatch(std::move(documents));
}

void CollectionCloner::noteBatch(std::span<const bson::View> documents) const {
  attempt_->parts.status->noteBatch(std::string(listed_.ns.db()), nameOfIt(), static_cast<int64_t>(documents.size()),
                                    static_cast<int64_t>(bytesOf(documents)));
}

Task<Status> CollectionCloner::writeBatch(std::vector<bson::View> documents) {
  for (std::span<const bson::View> left = documents; !left.empty();) {
    const size_t count = fitting(left);
    Body body = putting(left, count);
    TROUPE_CO_TRY(co_await write(lockOfDocuments(), std::move(body), bytesOf(left.first(count))));
    left = left.subspan(count);
    co_await attempt_->parts.node->nextTurn();
  }
  noteBatch(documents);
  co_return Status::OK();
}

size_t CollectionCloner::fitting(std::span<const bson::View> documents) const {
  const storage::UnitLimits& limits = attempt_->parts.unit;
  size_t count = 0, bytes = 0;
  while (count < documents.size() && count < limits.maxEntries && (count == 0 || bytes < limits.maxBytes))
    bytes += documents[count++].size();
  return count;
}

CollectionCloner::Body CollectionCloner::putting(std::span<const bson::View> documents, size_t count) const {
  return [this, documents, count](RecoveryUnit& unit) -> Status {
    const Status put = putCopied(*attempt_->parts.catalog, unit, *listed_.options.uuid, documents.first(count));
    if (put != ErrorCode::kNamespaceNotFound) return put;
    return {ErrorCode::kInitialSyncFailure, nameOfIt() + ", which is being copied, was dropped on this node"};
  };
}

Task<StatusWith<CollectionCloner::ListedIndexes>> CollectionCloner::listIndexes() {
  if (attempt_->parts.beforeStep) attempt_->parts.beforeStep();
  bson::Document list =
      bson::doc("listIndexes", *listed_.options.uuid, "includeBuildUUIDs", true, "$readPreference", fromAnyMember());
  const std::string database(listed_.ns.db());
  TROUPE_CO_ASSIGN(const auto rows, co_await listOfSource(attempt_, database, std::move(list)));
  co_return parseIndexes(rows);
}

/// Builds under way are begun here, too: the log may hold the commit alone.
Task<Status> CollectionCloner::beginUnfinished(std::map<bson::Uuid, std::vector<IndexSpec>> builds) {
  for (auto& [uuid, specs] : builds) {
    auto lacking = missing(std::move(specs));
    if (lacking.empty()) continue;
    IndexBuilder builder(*attempt_->parts.catalog, listed_.ns, std::move(lacking), uuid);
    Body begin = starting(builder);
    TROUPE_CO_TRY(co_await write(LockMode::kX, std::move(begin)));
  }
  co_return Status::OK();
}

/// The index that orders a clustered collection and that of `_id` come with the collection.
StatusWith<CollectionCloner::ListedIndexes> CollectionCloner::parseIndexes(
    const std::vector<bson::Document>& rows) const {
  ListedIndexes all;
  for (const bson::Document& document : rows) {
    const bson::View row = document;
    const bson::Element build = row["buildUUID"], spec = row["spec"];
    if (build.ok()) {
      const auto uuid = uuidIn(build);
      if (!uuid || !spec.is(bson::Type::kDocument)) return noRow("the index builds of " + nameOfIt());
      TROUPE_ASSIGN(auto parsed, storage::parseIndexSpec(spec.asDocument(), {}, false));
      all.unfinished[*uuid].push_back(std::move(parsed));
      continue;
    }
    if (row["clustered"].truthy()) continue;
    TROUPE_ASSIGN(auto parsed, storage::parseIndexSpec(row, {}, false));
    if (!parsed.idIndex) all.finished.push_back(std::move(parsed));
  }
  return all;
}

/// Those that an earlier run has not made.
std::vector<IndexSpec> CollectionCloner::missing(std::vector<IndexSpec> specs) const {
  const CollectionPtr made = attempt_->parts.catalog->snapshot()->find(*listed_.options.uuid);
  if (!made) return {};
  std::erase_if(specs, [&](const IndexSpec& spec) { return made->findIndex(spec.name) != nullptr; });
  return specs;
}

/// All of them by one scan. Duplicates in unique indexes are of different times, and go when the log is carried out.
Task<Status> CollectionCloner::build(std::vector<IndexSpec> specs) {
  if (specs.empty()) co_return Status::OK();
  IndexBuilder builder(*attempt_->parts.catalog, listed_.ns, std::move(specs));
  Body begin = starting(builder);
  TROUPE_CO_TRY(co_await write(LockMode::kX, std::move(begin)));
  builder.takeUp(*listed_.options.uuid);
  for (bool atEnd = false; !atEnd;) {
    Body step = stepping(builder, atEnd);
    TROUPE_CO_TRY(co_await write(LockMode::kIX, std::move(step)));
    co_await attempt_->parts.node->nextTurn();
  }
  Body commit = committing(builder);
  co_return co_await write(LockMode::kX, std::move(commit));
}

CollectionCloner::Body CollectionCloner::starting(IndexBuilder& builder) const {
  return [&builder](RecoveryUnit& unit) { return builder.start(unit); };
}

CollectionCloner::Body CollectionCloner::stepping(IndexBuilder& builder, bool& atEnd) const {
  return [&builder, &atEnd](RecoveryUnit& unit) -> Status {
    TROUPE_ASSIGN(atEnd, builder.step(unit, kDocumentsOfAStep));
    return Status::OK();
  };
}

CollectionCloner::Body CollectionCloner::committing(IndexBuilder& builder) const {
  return [&builder](RecoveryUnit& unit) { return builder.commit(unit); };
}

}  // namespace troupe::replication
