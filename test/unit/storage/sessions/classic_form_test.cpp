#include "storage/sessions/classic_form.hpp"

#include <gtest/gtest.h>

#include <string>

#include "messaging/bson/json.hpp"
#include "storage/oplog/oplog_entry.hpp"

namespace troupe::storage {
namespace {

using bson::operator""_json;

/// Of the session's write at that time.
bson::Document image(const char* kind = "postImage") {
  return bson::doc("_id", bson::doc("id", 7), "txnNum", int64_t{4}, "ts", bson::Timestamp{9, 3}, "imageKind", kind,
                   "image", bson::doc("_id", 1, "n", 5), "invalidated", false);
}

/// What both forms of entries have around `o`.
bson::Document entry(const char* op, bson::View object, bson::View more) {
  bson::Builder builder;
  builder.append("lsid", bson::doc("id", 7)).append("txnNumber", int64_t{4}).append("op", op).append("ns", "a.b");
  builder.append("o", object).append("ts", bson::Timestamp{9, 3}).append("t", int64_t{2}).append("v", int64_t{2});
  builder.append("wall", bson::Date{1000});
  return builder.appendAll(more).finish();
}
bson::Document marked(std::string_view mark = "postImage") {
  return entry("u", bson::doc("x", 1), bson::doc("stmtId", 6, "needsRetryImage", mark));
}

TEST(ClassicForm, OnlyMarkedEntriesHaveIt) {
  EXPECT_TRUE(keepsImageAside(marked()));
  EXPECT_FALSE(keepsImageAside(entry("u", bson::doc("needsRetryImage", "postImage"), {})));
  EXPECT_FALSE(keepsImageAside(entry("u", R"({"applyOps": [{"needsRetryImage": "postImage"}]})"_json, {})))
      << "the content of a document";
  EXPECT_FALSE(keepsImageAside(R"({"op": "c", "o": {"applyOps": [{"op": "u"}, 3]}})"_json));
  EXPECT_FALSE(keepsImageAside(bson::Document()));
}

TEST(ClassicForm, TheNoteHasTheFreeTimeAndTheWriteRefersToIt) {
  const auto form = classicFormOf(marked(), image());
  ASSERT_TRUE(form.isOK() && form->note);
  const auto note = OplogEntry::parse(*form->note);
  ASSERT_TRUE(note.isOK()) << note.status().toString();
  EXPECT_EQ(note->operation.kind, OplogKind::kNoop);
  EXPECT_EQ(note->opTime, (OpTime{2, {9, 2}}));
  EXPECT_EQ(note->txnNumber, 4);
  EXPECT_EQ(note->statements, std::vector<int32_t>{6});
  EXPECT_EQ(note->wall, bson::Date{1000});
  EXPECT_EQ(bson::Document(note->operation.object), bson::doc("_id", 1, "n", 5));
  const bson::Document place = bson::doc("ts", bson::Timestamp{9, 2}, "t", int64_t{2});
  EXPECT_EQ(form->entry, entry("u", bson::doc("x", 1), bson::doc("stmtId", 6, "postImageOpTime", place)));
}

TEST(ClassicForm, AReferenceIsThereOnce) {
  const bson::Document place = bson::doc("ts", bson::Timestamp{9, 2}, "t", int64_t{2});
  const bson::Document old = bson::doc("ts", bson::Timestamp{9, 1}, "t", int64_t{2});
  const auto both = entry("u", {}, bson::doc("preImageOpTime", old, "needsRetryImage", "postImage"));
  EXPECT_EQ(classicFormOf(both, image())->entry,
            entry("u", {}, bson::doc("preImageOpTime", old, "postImageOpTime", place)));
  const auto same = entry("u", {}, bson::doc("preImageOpTime", old, "needsRetryImage", "preImage"));
  EXPECT_EQ(classicFormOf(same, image("preImage"))->entry, entry("u", {}, bson::doc("preImageOpTime", place)));
  EXPECT_EQ(classicFormOf(same, {})->entry, entry("u", {}, bson::doc("preImageOpTime", old)));
}

/// An internal transaction has one entry for all that it wrote, of which one operation may have an image.
TEST(ClassicForm, OfAnOperationOfAGroup) {
  const bson::Document first = R"({"op": "i", "ns": "a.c", "o": {"_id": 1}, "stmtId": 1})"_json;
  const bson::Document plain = R"({"op": "u", "ns": "a.d", "o": {"x": 1}, "stmtId": 2})"_json;
  bson::Builder withMark;
  withMark.appendAll(plain).append("needsRetryImage", "postImage");
  const bson::Document write = withMark.finish();
  const auto group = [&](bson::View second) {
    return entry("c", bson::doc("applyOps", bson::array(first, second), "count", 2), bson::doc("prevOpTime", 0));
  };
  const auto form = classicFormOf(group(write), image());
  ASSERT_TRUE(form.isOK() && form->note);
  EXPECT_EQ((*form->note)["ns"].toStringOr(), "a.d");
  EXPECT_EQ((*form->note)["stmtId"].toInt64(), 2);
  bson::Builder withPlace;
  withPlace.appendAll(plain).append("postImageOpTime", bson::doc("ts", bson::Timestamp{9, 2}, "t", int64_t{2}));
  EXPECT_EQ(form->entry, group(withPlace.finish()));
  EXPECT_EQ(classicFormOf(group(write), {})->entry, group(plain));
}

TEST(ClassicForm, AnotherWritesImageIsNone) {
  const auto hasNote = [](const bson::Document& record) {
    const auto form = classicFormOf(marked(), record);
    EXPECT_TRUE(form.isOK());
    EXPECT_EQ(form->entry.view().has("postImageOpTime"), form->note.has_value());
    EXPECT_FALSE(form->entry.view().has("needsRetryImage"));
    return form->note.has_value();
  };
  const auto changed = [](std::string_view name, const auto& value) {
    bson::Builder builder;
    const bson::Document right = image();
    for (const bson::Element& e : right.view())
      if (e.name() == name) builder.append(name, value);
      else builder.append(e);
    return builder.finish();
  };
  EXPECT_TRUE(hasNote(image()));
  EXPECT_FALSE(hasNote({}));
  EXPECT_FALSE(hasNote(image("preImage")));
  EXPECT_FALSE(hasNote(changed("_id", bson::doc("id", 8))));
  EXPECT_FALSE(hasNote(changed("txnNum", int64_t{5})));
  EXPECT_FALSE(hasNote(changed("ts", bson::Timestamp{9, 4})));
  EXPECT_FALSE(hasNote(changed("invalidated", true)));
}

TEST(ClassicForm, WhatIsNoEntryIsRefused) {
  const bson::Document right = marked();
  for (const char* missing : {"lsid", "txnNumber", "ns", "ts", "t", "wall"}) {
    bson::Builder builder;
    for (const bson::Element& e : right.view())
      if (e.name() != missing) builder.append(e);
    EXPECT_EQ(classicFormOf(builder.finish(), image()).status(), ErrorCode::kFailedToParse) << missing;
  }
  EXPECT_EQ(classicFormOf(marked("true"), image()).status(), ErrorCode::kFailedToParse);
  bson::Builder first;
  for (const bson::Element& e : right.view())
    if (e.name() == "ts") first.append("ts", bson::Timestamp{9, 0});
    else first.append(e);
  EXPECT_EQ(classicFormOf(first.finish(), image()).status(), ErrorCode::kFailedToParse);
}

}  // namespace
}  // namespace troupe::storage
