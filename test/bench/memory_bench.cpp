// Memory of an idle connection: how much the resident size of a running server grows with many of them after their
// hello. Prints one JSON line. (The memory of an idle actor is measured where actors are: actor_bench.)
#include <sys/resource.h>

#include <memory>

#include "messaging/bson/document.hpp"
#include "messaging/wire/client.hpp"
#include "test/bench/support/measure.hpp"
#include "test/bench/support/raw_client.hpp"

namespace {

using namespace troupe;
using namespace troupe::bench;

void allowManyFiles() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv, {{"port", "27017"}, {"pid", "0"}, {"connections", "5000"}});
  return run([&] {
    allowManyFiles();
    const auto driver =
        bson::doc("driver", bson::doc("name", "memory_bench", "version", "1"), "os", bson::doc("type", "Linux"));
    const std::string hello = wire::buildRequest(1, "admin", bson::doc("hello", 1, "client", driver));
    std::vector<std::unique_ptr<RawClient>> idle;
    const auto connectMany = [&](int count) {
      for (int i = 0; i < count; ++i) {
        idle.push_back(std::make_unique<RawClient>(arguments.number("port")));
        idle.back()->roundTrip(hello);
      }
    };
    connectMany(200);  // what the first few cost is the server's, not theirs
    const int64_t before = residentBytes(arguments.number("pid"));
    const int count = arguments.number("connections");
    connectMany(count);
    const double each = static_cast<double>(residentBytes(arguments.number("pid")) - before) / count;
    report({.work = "memory of an idle connection",
            .against = "the allowance",
            .unit = "bytes",
            .troupe = each,
            .reference = 32 * 1024,
            .ceiling = 1.0});
  });
}
