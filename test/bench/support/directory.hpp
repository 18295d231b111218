#pragma once
#include <stdlib.h>

#include <filesystem>
#include <initializer_list>
#include <string>

#include "test/bench/support/measure.hpp"

namespace troupe::bench {

/// A new directory below `parent`, with folders in it, that goes away with this object.
class Directory {
 public:
  Directory(const std::string& parent, std::initializer_list<const char*> folders)
      : path_(parent + "/troupe-bench.XXXXXX") {
    if (!mkdtemp(path_.data())) throw BenchError("no directory below " + parent);
    for (const char* folder : folders) std::filesystem::create_directory(path_ + "/" + folder);
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace troupe::bench
