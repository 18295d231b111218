#pragma once
#include <wiredtiger.h>

#include <filesystem>
#include <string>

#include "test/bench/support/measure.hpp"

namespace troupe::bench {

/// Throws for what WiredTiger calls an error.
inline void requireRaw(int code) {
  if (code != 0) throw BenchError(std::string("WiredTiger: ") + wiredtiger_strerror(code));
}

/// A table as a node makes them for records and indexes.
inline constexpr const char* kRawTable =
    "key_format=u,value_format=u,allocation_size=512,memory_page_max=10m,split_pct=90,leaf_value_max=64MB,"
    "block_compressor=snappy,log=(enabled=true)";

/// A database as a node opens it, journal included, in an empty directory.
inline WT_CONNECTION* openRaw(const std::string& path, int64_t cacheBytes) {
  std::filesystem::create_directory(path + "/journal");
  const std::string config =
      "create,extensions=[libwiredtiger_snappy.so],session_max=2000,statistics=(fast),cache_size=" +
      std::to_string(cacheBytes) +
      ",eviction=(threads_min=1,threads_max=4),eviction_dirty_target=5,eviction_dirty_trigger=20,"
      "log=(enabled=true,archive=true,path=journal,compressor=snappy,file_max=100MB)";
  WT_CONNECTION* connection = nullptr;
  requireRaw(wiredtiger_open(path.c_str(), nullptr, config.c_str(), &connection));
  return connection;
}

inline WT_SESSION* openRawSession(WT_CONNECTION* connection) {
  WT_SESSION* session = nullptr;
  requireRaw(connection->open_session(connection, nullptr, "isolation=snapshot", &session));
  return session;
}

inline WT_ITEM rawItem(std::string_view bytes) {
  WT_ITEM item{};
  item.data = bytes.data();
  item.size = bytes.size();
  return item;
}

}  // namespace troupe::bench
