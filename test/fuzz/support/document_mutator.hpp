#pragma once
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"

namespace troupe::fuzz {

/// Values that have broken servers before: limits, signs, nothing, things of the wrong kind.
inline bson::Value oddValue(uint64_t which) {
  static const std::vector<bson::Value> kValues = {bson::Value(int32_t{0}),
                                                   bson::Value(int32_t{1}),
                                                   bson::Value(int32_t{-1}),
                                                   bson::Value(INT32_MAX),
                                                   bson::Value(INT64_MAX),
                                                   bson::Value(INT64_MIN),
                                                   bson::Value(0.5),
                                                   bson::Value(-0.0),
                                                   bson::Value(1e308),
                                                   bson::Value(double(NAN)),
                                                   bson::Value(true),
                                                   bson::Value(false),
                                                   bson::Value(bson::Null{}),
                                                   bson::Value(""),
                                                   bson::Value("a"),
                                                   bson::Value("a.b.0"),
                                                   bson::Value("$a"),
                                                   bson::Value("$$ROOT"),
                                                   bson::Value("a.$[]"),
                                                   bson::Value("c"),
                                                   bson::Value("test.c"),
                                                   bson::Value(std::string(300, 'x')),
                                                   bson::Value(bson::doc()),
                                                   bson::Value(bson::doc("a", 1)),
                                                   bson::Value(bson::doc("$gt", 1)),
                                                   bson::Value(bson::doc("$a", bson::doc("$b", 1))),
                                                   bson::array(),
                                                   bson::array(1, 2),
                                                   bson::array(bson::doc("a", 1), "b"),
                                                   bson::Value(bson::Date{0}),
                                                   bson::Value(bson::Timestamp{1, 1}),
                                                   bson::Value(bson::ObjectId{}),
                                                   bson::Value(bson::MinKey{}),
                                                   bson::Value(bson::MaxKey{})};
  return kValues[which % kValues.size()];
}

/// Changes documents as a whole: values get other kinds, fields come, go and change their names, parts move from one
/// document to another. Bytes alone would nearly always break a length.
class DocumentMutator {
 public:
  explicit DocumentMutator(unsigned seed) : random_(seed) {}

  size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }

  /// All documents, one of them changed in one place, or one left out or told twice.
  std::string changeOne(std::span<const bson::View> documents) {
    const size_t chosen = below(documents.size());
    const size_t how = below(12);
    std::string out;
    for (size_t i = 0; i < documents.size(); ++i) {
      if (i == chosen && how == 0 && documents.size() > 1) continue;
      out += i == chosen ? std::string(changed(documents[i]).view().bytes()) : std::string(documents[i].bytes());
      if (i == chosen && how == 1) out += documents[i].bytes();
    }
    return out;
  }

  /// The first documents of one, then a field's value of one put into the other, then the rest of the other.
  std::string cross(std::span<const bson::View> left, std::span<const bson::View> right) {
    std::string out;
    for (size_t i = 0, n = below(left.size() + 1); i < n; ++i) out += left[i].bytes();
    collect(left[below(left.size())]);
    const size_t from = below(right.size());
    out += changed(right[from], true).view().bytes();
    for (size_t i = from + 1; i < right.size(); ++i) out += right[i].bytes();
    return out;
  }

 private:
  bson::Document changed(bson::View document, bool transplant = false) {
    if (!transplant) collect(document);
    transplant_ = transplant;
    target_ = below(count(document));
    at_ = 0;
    bson::Builder out;
    rewrite(document, out);
    return out.finish();
  }

  static size_t count(bson::View document) {
    size_t n = 0;
    for (const bson::Element& e : document) n += 1 + (e.isObjectLike() ? count(e.asDocument()) : 0);
    return n;
  }
  void collect(bson::View document) {
    for (const bson::Element& e : document) {
      pool_.emplace_back(e);
      names_.emplace_back(e.name());
      if (e.isObjectLike()) collect(e.asDocument());
    }
  }
  bson::Value other() { return !pool_.empty() && below(3) == 0 ? pool_[below(pool_.size())] : oddValue(random_()); }
  std::string otherName() {
    static constexpr std::string_view kNames[] = {"_id",          "a",        "b",       "x",         "$set",
                                                  "$inc",         "$and",     "$or",     "$expr",     "$elemMatch",
                                                  "$in",          "",         "a.b",     "a.0",       "$push",
                                                  "limit",        "skip",     "sort",    "hint",      "collation",
                                                  "let",          "lsid",     "comment", "maxTimeMS", "readConcern",
                                                  "writeConcern", "$project", "$group",  "$match",    "$lookup",
                                                  "$each",        "$$NOW"};
    if (!names_.empty() && below(3) == 0) return names_[below(names_.size())];
    return std::string(kNames[below(std::size(kNames))]);
  }

  void rewrite(bson::View document, bson::Builder& out) {
    for (const bson::Element& e : document) {
      if (at_++ == target_) {
        change(e, out);
        if (e.isObjectLike()) at_ += count(e.asDocument());
      } else if (e.isObjectLike()) {
        e.is(bson::Type::kArray) ? out.openArray(e.name()) : out.openDocument(e.name());
        rewrite(e.asDocument(), out);
        out.close();
      } else {
        out.append(e);
      }
    }
  }
  void change(const bson::Element& e, bson::Builder& out) {
    switch (transplant_ ? 0 : below(7)) {
      case 0:
      case 1: out.append(e.name(), transplant_ && !pool_.empty() ? pool_[below(pool_.size())] : other()); break;
      case 2: break;  // left out
      case 3:
        out.append(e);
        out.append(otherName(), other());
        break;
      case 4: out.append(otherName(), e); break;
      case 5: out.openDocument(e.name()).append(otherName(), e).close(); break;
      default: nudge(e, out);
    }
  }
  void nudge(const bson::Element& e, bson::Builder& out) {
    if (e.isNumber()) {
      const auto number = static_cast<uint64_t>(e.toInt64());  // whose ends are neighbours
      out.append(e.name(), static_cast<int64_t>(number + below(5) - 2));
    } else if (e.is(bson::Type::kString)) {
      std::string text(e.asString());
      if (text.empty() || below(2) == 0) text += otherName();
      else text.resize(below(text.size()));
      out.append(e.name(), text);
    } else {
      out.append(e);
      out.append(e);
    }
  }

  std::minstd_rand random_;
  std::vector<bson::Value> pool_;
  std::vector<std::string> names_;
  size_t target_ = 0, at_ = 0;
  bool transplant_ = false;
};

}  // namespace troupe::fuzz
