#pragma once
#include <algorithm>
#include <cstddef>

namespace troupe::server {

/// A position in a hash table that is read piece by piece, and changes between the pieces. What is in the table all the
/// time is met at least once.
struct TablePlace {
  size_t bucket = 0, buckets = 0;
  bool atEnd = false;
};

/// Visits what lies in the next buckets, `most` at the most. A table that has grown meanwhile has other buckets, and is
/// read from its beginning: that happens seldom, since each growth is a multiplication.
template <class Table, class Visit>
void visitPiece(const Table& table, TablePlace& place, size_t most, const Visit& visit) {
  if (place.buckets != table.bucket_count()) place = {0, table.bucket_count(), false};
  const size_t end = std::min(place.buckets, place.bucket + most);
  for (; place.bucket < end; ++place.bucket)
    for (auto here = table.begin(place.bucket); here != table.end(place.bucket); ++here) visit(*here);
  place.atEnd = place.bucket >= place.buckets;
}

}  // namespace troupe::server
