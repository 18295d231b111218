#include <optional>
#include <utility>

#include "storage/query/expression/values.hpp"
#include "storage/query/pipeline/stages.hpp"
#include "storage/sessions/classic_form.hpp"
#include "storage/sessions/session_record.hpp"

// $_internalFindAndModifyImageLookup (SES-024).
namespace troupe::query {

using bson::Document;
using bson::Element;
using bson::Type;

namespace {

constexpr std::string_view kName = "$_internalFindAndModifyImageLookup";

CollectionName images() {
  const storage::Namespace& ns = storage::imagesNamespace();
  return {std::string(ns.db()), std::string(ns.collection())};
}

/// Passes entries of the log on; one whose image is kept aside as the two that the classic way would have written.
class ImageLookupStage final : public Stage {
 public:
  explicit ImageLookupStage(PipelineContext context) : context_(std::move(context)), held_(context_.parse->work) {}

  StatusWith<Next> next() override {
    if (auto write = std::exchange(write_, std::nullopt)) {
      current_ = std::move(*write);
      return Next::of(current_.view());
    }
    auto in = pull();
    if (!in.isOK() || !in->isDocument() || !storage::keepsImageAside(in->document)) return in;
    TROUPE_ASSIGN(const Document image, imageOf(in->document["lsid"]));
    TROUPE_ASSIGN(auto form, storage::classicFormOf(in->document, image));
    TROUPE_TRY(held_.set(int64_t{form.entry.view().size()} + (form.note ? form.note->view().size() : 0)));
    if (!form.note) {
      current_ = std::move(form.entry);
    } else {
      current_ = std::move(*form.note);
      write_ = std::move(form.entry);
    }
    return Next::of(current_.view());
  }
  std::string_view name() const override { return kName; }
  void serialize(bson::Builder& stages) const override { stages.pushDocument().openDocument(kName).close().close(); }
  StageTraits traits() const override { return {.inFacet = false}; }

 private:
  /// What the session's last findAndModify has left, whichever that was. Empty: nothing.
  StatusWith<Document> imageOf(const Element& session) const {
    Document found;
    if (!session.is(Type::kDocument)) return found;
    PushDown request;
    request.filter = bson::doc("_id", bson::doc("$eq", session));
    TROUPE_ASSIGN(const auto scan, context_.environment->scan(images(), request));
    TROUPE_TRY(drain([&] { return scan->next(); }, context_,
                     [&](bson::View document) {
                       found = Document(document);
                       return Status::OK();
                     }));
    return found;
  }

  PipelineContext context_;
  HeldMemory held_;
  Document current_;
  std::optional<Document> write_;  ///< comes after the note that went before it
};

Status parseImageLookup(const Element& e, StageParser& parser) {
  if (!e.is(Type::kDocument) || !e.asDocument().empty())
    return {ErrorCode::kFailedToParse,
            "The " + std::string(kName) + " stage specification must be an empty object, found: " + show(e)};
  // Without an environment: in an update or in the definition of a view, whose readers have no such right.
  if (!parser.context.environment) return {ErrorCode::kInvalidOptions, std::string(kName) + " is not allowed here"};
  parser.involved.push_back({images(), NamespaceUse::kInternal});
  parser.involved.push_back({images(), NamespaceUse::kRead});
  parser.add(std::make_unique<ImageLookupStage>(parser.context));
  return Status::OK();
}

constexpr StageRow kImageLookupStages[] = {{kName, parseImageLookup}};

}  // namespace

std::span<const StageRow> imageLookupStages() { return kImageLookupStages; }

}  // namespace troupe::query
