#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "state_machines/core/diagram.hpp"

namespace troupe::machines::test {

/// Expects that a page of docs/protocols shows the diagram and the table of that machine between its marks; with
/// TROUPE_WRITE_PAGES in the environment it writes them there. Runs in the root of the source tree.
template <class M>
void expectPageShows(const char* path) {
  const auto outline = outlineOf<M>();
  const std::string generated = "```mermaid\n" + toMermaid(outline) + "```\n\n" + toMarkdown(outline);
  std::stringstream page;
  page << std::ifstream(path).rdbuf();
  const std::string text = page.str(), open = "<!-- generated -->\n", close = "<!-- end -->\n";
  const size_t begin = text.find(open), end = text.find(close);
  ASSERT_TRUE(begin != text.npos && end != text.npos) << "run in the root of the source tree: " << path;
  const std::string shown = text.substr(begin + open.size(), end - begin - open.size());
  if (shown != generated && std::getenv("TROUPE_WRITE_PAGES"))
    std::ofstream(path) << text.substr(0, begin + open.size()) << generated << text.substr(end);
  else EXPECT_EQ(shown, generated) << path << " is out of date; the page says how to write it";
}

}  // namespace troupe::machines::test
