#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/kernel/node.hpp"
#include "supervisors/admin/access.hpp"
#include "supervisors/admin/http_message.hpp"
#include "supervisors/admin/queries.hpp"
#include "supervisors/supervision/supervisor.hpp"

namespace troupe::supervisors {

/// Sources of the pages besides the actors. Called on any pool thread; empty functions answer 404.
struct AdminSources {
  std::function<std::string()> metrics;                ///< Prometheus text
  std::function<bson::Document()> status;              ///< serverStatus
  std::function<std::vector<bson::Document>()> locks;  ///< rows of lockInfo
  /// Rows of sessionInfo, the session used last first, at most so many; and how many sessions there are.
  std::function<std::vector<bson::Document>(size_t most)> sessions;
  std::function<size_t()> sessionCount;
  std::function<void(std::string_view id)> killSession;  ///< of the 16 bytes of its id
  std::function<Status()> ready;                         ///< whether clients are served
  std::function<void(const std::string& user, const std::string& what, const Status& outcome)>
      audit;  ///< an operator acted

  // What concerns all members of a set. Commands are of the database `admin`, and run on this node with the rights of
  // the user ("name@database"; empty: nobody has to log in).
  using Reply = StatusWith<bson::Document>;
  std::function<Task<Reply>(std::string user, bson::Document command)> run;
  using Rows = StatusWith<std::vector<bson::Document>>;
  std::function<Task<Rows>(std::string user, bson::Document command)> rows;  ///< of a command that gives a cursor
  std::function<Task<bson::Document>()> set;                                 ///< commands::pictureOfSet
};

/// The admin interface without its sockets: one request in, one response out. Thread-safe; lives until the last request
/// has been answered.
class AdminApi {
 public:
  /// `loopback`: the endpoint listens on loopback only, so requests that name another host are refused.
  AdminApi(Node& node, AdminSources sources, std::shared_ptr<Access> access, bool loopback)
      : node_(node), sources_(std::move(sources)), access_(std::move(access)), loopback_(loopback) {}

  /// Never fails: errors are responses. `this` outlives the task.
  Task<HttpResponse> handle(HttpRequest request);
  /// Whether an event stream of that log-in may go on; nothing while users cannot be read. Never fails.
  std::optional<bool> maySeeEvents(const LogIn& logIn);
  /// Grows when users or their rights change.
  int64_t rightsVersion() const { return access_->version(); }

  Node& node() const { return node_; }

 private:
  Task<HttpResponse> route(HttpRequest request, Identity who);
  HttpResponse actors(const RowQuery& query) const;
  Task<HttpResponse> actor(std::string path);
  Task<HttpResponse> act(HttpRequest request, Identity who);

  // Over the whole set, in member_pages.cpp.
  Task<HttpResponse> actorsOfMembers(RowQuery query, std::string user) const;
  Task<HttpResponse> transitionsOfMembers(TransitionFilter filter, std::string user) const;
  Task<HttpResponse> actorOfMember(std::string path, std::string member, std::string user) const;
  Task<HttpResponse> set() const;
  /// Has another member carry the action out, and gives the actor's row there afterwards; empty if it cannot be had.
  Task<AdminSources::Reply> controlOnMember(std::string path, std::string action, std::string why, std::string member,
                                            std::string user) const;
  HttpResponse asset(const HttpRequest& request) const;
  HttpResponse locks() const;
  HttpResponse sessions(const HttpRequest& request) const;
  HttpResponse killSession(const HttpRequest& request, const Identity& who) const;
  HttpResponse transitions(const TransitionFilter& filter) const;
  HttpResponse readiness() const;

  Node& node_;
  const AdminSources sources_;
  const std::shared_ptr<Access> access_;
  const bool loopback_;
};

}  // namespace troupe::supervisors
