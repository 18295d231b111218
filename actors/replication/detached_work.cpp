#include "actors/replication/detached_work.hpp"

#include <utility>

namespace troupe::replication {

namespace {

class DetachedWork final : public Actor {
 public:
  DetachedWork(std::function<Status()> work, Promise<Status> outcome)
      : work_(std::move(work)), outcome_(std::move(outcome)) {}
  Behaviour behaviour() override {
    return {on<Begin>([this](const Begin&) {
      Status status = work_();
      stop();
      outcome_.set(std::move(status));
    })};
  }
  void onStart() override { tell(self(), local(Begin{})); }

 private:
  struct Begin {};
  std::function<Status()> work_;
  Promise<Status> outcome_;
};

}  // namespace

Future<Status> beginDetached(Node& node, const std::string& path, std::function<Status()> work) {
  Promise<Status> promise;
  auto outcome = promise.future();
  auto actor = std::make_unique<DetachedWork>(std::move(work), std::move(promise));
  // The same work of an actor that was restarted meanwhile may be going on.
  std::string free = path;
  for (int again = 2; node.postOffice().exists(node.address(free)); ++again) free = path + "-" + std::to_string(again);
  node.spawn(free, std::move(actor), {.detached = true});
  return outcome;
}

Task<Status> runDetached(Node& node, std::string path, std::function<Status()> work) {
  auto outcome = beginDetached(node, path, std::move(work));
  co_return co_await outcome;
}

}  // namespace troupe::replication
