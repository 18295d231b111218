#pragma once
#include <optional>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::storage {

/// What an entry whose image is kept aside becomes where it is copied to members of another set, which do not have that
/// image: the entries that the classic way writes (SES-020, SES-024).
struct ClassicForm {
  std::optional<bson::Document> note;  ///< the image, one time before the write; nothing: it is not known any more
  bson::Document entry;                ///< the write, which refers to the note
};

/// Whether an entry of the log has an image that is kept aside, or an operation of its group has one. Other documents
/// have none.
bool keepsImageAside(bson::View entry);

/// Of an entry with such an image. `image`: the document of config.image_collection of the entry's session; empty where
/// there is none. One of another write, or one that is invalidated, is no image of the entry. The note is a statement
/// of the entry's session. Fields that the server does not know stay. Errors: FailedToParse.
StatusWith<ClassicForm> classicFormOf(bson::View entry, bson::View image);

}  // namespace troupe::storage
