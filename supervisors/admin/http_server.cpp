#include "supervisors/admin/http_server.hpp"

#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>

#include "actors/server/token_bucket.hpp"
#include "messaging/tls/context.hpp"
#include "supervisors/admin/event_queue.hpp"
#include "supervisors/admin/http_messages.hpp"
#include "supervisors/admin/http_stream.hpp"

namespace troupe::supervisors {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr int kBacklog = 128;
/// The pause after a failure to accept (too many open files), so that it is not tried in a tight loop.
constexpr auto kPauseAfterFailure = std::chrono::milliseconds(100);
constexpr double kBurstSeconds = 4;
/// Room for what is read ahead of a request's end: its body's beginning, requests that were sent at once.
constexpr size_t kReadAheadBytes = 48 * 1024;

}  // namespace

struct HttpServer::Shared : std::enable_shared_from_this<HttpServer::Shared> {
  Shared(std::shared_ptr<AdminApi> a, HttpServerOptions o)
      : api(std::move(a)), options(std::move(o)), acceptor(api->node().io()), retry(api->node().io()) {}

  const std::shared_ptr<AdminApi> api;
  const HttpServerOptions options;
  std::shared_ptr<asio::ssl::context> tls;  ///< null: plain HTTP only
  tcp::acceptor acceptor;
  asio::steady_timer retry;
  uint16_t port = 0;
  std::atomic<bool> stopping{false};
  std::atomic<size_t> streams{0};
  std::atomic<int64_t> accepted{0}, refused{0}, requests{0}, failures{0};
  std::mutex mutex;  // guards the acceptor and what follows
  /// The operations that a session waits for keep it alive; this is a list of sessions without ownership.
  std::set<std::weak_ptr<Session>, std::owner_less<>> sessions;
  std::map<std::string, int64_t> perAddress;  ///< sessions of each address
  server::AddressBuckets buckets;

  void open();
  void accept();
  void admit(tcp::socket socket);
  void retryLater();
  /// Null, or why there is no room for the session.
  const char* add(const std::shared_ptr<Session>& session);
  void remove(const std::shared_ptr<Session>& session);
  /// Gives up the place of the session that has awaited a request for longest, of the address with most sessions, or of
  /// those of `address` that have not asked for anything yet; null when there is none. Under the mutex; the session is
  /// to be stopped after it.
  std::shared_ptr<Session> displaceOne(const std::string* address = nullptr);
  void forget(const std::string& address);
  /// Whether the address may make one more request now.
  bool isInTime(const std::string& address);
  void noteRefusal(const std::string& remote, std::string_view why);
};

/// One connection. All of it runs on the connection's strand but the answering, which is a task of the node's pool.
class HttpServer::Session : public std::enable_shared_from_this<HttpServer::Session> {
 public:
  Session(std::shared_ptr<Shared> shared, tcp::socket socket)
      : shared_(std::move(shared)),
        stream_(std::move(socket)),
        heartbeat_(stream_.get_executor()),
        buffer_(shared_->options.maxHeaderBytes + kReadAheadBytes) {
    error_code error;
    const auto remote = stream_.socket().remote_endpoint(error);
    if (!error) remote_ = remote.address().to_string() + ":" + std::to_string(remote.port());
    address_ = server::addressKey(remote_);
  }

  void run() {
    asio::dispatch(stream_.get_executor(), [self = shared_from_this()] {
      if (self->shared_->tls) self->greet();
      else self->awaitRequest();
    });
  }
  const std::string& remote() const { return remote_; }
  /// What limits per address go by.
  const std::string& address() const { return address_; }
  bool hasAsked() const { return asked_; }
  /// Since when the client owes a request; TimePoint::max(): it owes none. Any thread, as the one before.
  TimePoint awaitedSince() const { return awaitedSince_; }
  /// Tells the client that there is no room, and closes. That is not worth a handshake.
  void refuse(const char* why) {
    asio::dispatch(stream_.get_executor(), [self = shared_from_this(), why] {
      if (self->shared_->tls) return self->close();
      self->keepAlive_ = false;
      self->send(errorResponse(503, ErrorCode::kHostUnreachable, why));
    });
  }
  /// The server stops: now if nothing is under way, else after the response.
  void stop() {
    asio::dispatch(stream_.get_executor(), [self = shared_from_this()] {
      self->keepAlive_ = false;
      if (!self->answering_) self->close();
    });
  }

 private:
  using Self = std::shared_ptr<Session>;

  void greet() {
    stream_.expires_after(shared_->options.requestTime);
    stream_.greet(shared_->tls, buffer_, [self = shared_from_this()](error_code error) {
      if (error) return ++self->shared_->failures, self->close();
      self->awaitRequest();
    });
  }

  /// Waits for the first byte with the idle time, then reads the rest within the request time. A connection that has
  /// asked for nothing yet gets less time than one between two requests.
  void awaitRequest() {
    if (asked_) awaitedSince_ = shared_->api->node().environment().now();
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(shared_->options.maxHeaderBytes));
    parser_->body_limit(shared_->options.maxBodyBytes);
    if (buffer_.size() > 0) return readRequest();
    stream_.expires_after(asked_ ? shared_->options.idleTime : shared_->options.firstByteTime);
    stream_.async_read_some(buffer_.prepare(4096), [self = shared_from_this()](error_code error, size_t size) {
      if (error) return self->close();
      self->buffer_.commit(size);
      self->readRequest();
    });
  }

  void readRequest() {
    stream_.expires_after(shared_->options.requestTime);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](error_code error, size_t) { self->requestRead(error); });
  }

  void requestRead(error_code error) {
    if (!error) return answer();
    ++shared_->failures;
    keepAlive_ = false;
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      return send(errorResponse(431, ErrorCode::kBadValue, "the request's headers or chunk extensions are too long"));
    if (error == http::error::body_limit)
      return send(errorResponse(413, ErrorCode::kBadValue, "the request's body is too long"));
    if (error == beast::error::timeout || error == http::error::end_of_stream ||
        error.category() != make_error_code(http::error::bad_method).category())
      return close();
    send(errorResponse(400, ErrorCode::kFailedToParse, "not a proper HTTP request: " + error.message()));
  }

  void answer() {
    ++shared_->requests;
    asked_ = true;
    awaitedSince_ = TimePoint::max();
    const LibraryRequest request = parser_->release();
    keepAlive_ = request.keep_alive() && !shared_->stopping;
    head_ = request.method() == http::verb::head;
    if (!shared_->isInTime(address_)) {
      shared_->noteRefusal(remote_, "too many requests from this address");
      HttpResponse later =
          errorResponse(429, ErrorCode::kTemporarilyUnavailable, "too many requests from this address");
      later.headers.emplace_back("Retry-After", "1");
      return send(std::move(later));
    }
    if (shared_->options.tls.mode == tls::TlsMode::kRequire && !stream_.encrypted()) {
      keepAlive_ = false;
      return send(errorResponse(400, ErrorCode::kIllegalOperation, "this port speaks TLS only: ask by https"));
    }
    HttpRequest asked = toRequest(request, remote_);
    asked.encrypted = stream_.encrypted();
    const Status parsed = parseTarget(std::string_view(request.target().data(), request.target().size()), asked);
    if (!parsed.isOK()) return send(errorResponse(parsed));
    answering_ = true;
    stream_.expires_never();
    rightsAt_ = shared_->api->rightsVersion();
    shared_->api->node().start(answerTask(shared_from_this(), std::move(asked)));
  }

  static Task<void> answerTask(Self self, HttpRequest request) {
    HttpResponse response;
    try {
      response = co_await self->shared_->api->handle(std::move(request));
    } catch (const std::exception& failure) {
      response = errorResponse(500, ErrorCode::kInternalError, failure.what());
    }
    auto& stream = self->stream_;
    asio::dispatch(stream.get_executor(), [self, response = std::move(response)]() mutable {
      if (response.events && !self->head_) self->startEvents(std::move(response));
      else self->send(std::move(response));
    });
  }

  void send(HttpResponse from) {
    answering_ = true;
    auto response = std::make_shared<LibraryResponse>(static_cast<http::status>(from.status), 11);
    fillHeaders(*response, from);
    response->keep_alive(keepAlive_);
    const bool empty = head_ || from.status == 304;
    response->content_length(from.body.size());
    if (!empty) response->body() = std::move(from.body);
    stream_.expires_after(shared_->options.writeTime);
    auto serializer = std::make_shared<http::response_serializer<http::string_body>>(*response);
    const auto done = [self = shared_from_this(), response, serializer](error_code error, size_t) {
      self->sent(error);
    };
    if (empty) http::async_write_header(stream_, *serializer, done);
    else http::async_write(stream_, *serializer, done);
  }

  void sent(error_code error) {
    answering_ = false;
    if (error || !keepAlive_) return close();
    awaitRequest();
  }

  // Event streams: a response without end.
  void startEvents(HttpResponse from) {
    if (shared_->stopping) return close();  // while its client was asked for
    if (++shared_->streams > shared_->options.maxEventStreams) {
      --shared_->streams;
      return send(errorResponse(503, ErrorCode::kHostUnreachable, "too many event streams"));
    }
    counted_ = true;
    eventsOf_ = std::move(from.eventsOf);
    std::weak_ptr<Session> weak = weak_from_this();
    events_ =
        std::make_shared<EventQueue>(shared_->options.eventQueueLength, [weak, executor = stream_.get_executor()] {
          asio::post(executor, [weak] {
            if (const auto self = weak.lock()) self->flushEvents();
          });
        });
    Node& node = shared_->api->node();
    token_ = node.registry().subscribe([queue = events_, environment = &node.environment()](const RowChange& change) {
      queue->push(change, environment->wallNow());
    });
    answering_ = false;  // a stop may cut it anywhere
    http::response<http::empty_body> header(http::status::ok, 11);
    fillHeaders(header, from);
    header.keep_alive(false);
    std::ostringstream out;
    out << header.base() << "retry: 1000\nevent: hello\ndata: {\"node\":\"" << node.name() << "\"}\n\n";
    watchForClose();
    write(out.str());
  }

  /// A client of an event stream says nothing more; what comes is its end. A wake-up may be left over from the request.
  void watchForClose() {
    stream_.socket().async_wait(tcp::socket::wait_read, [self = shared_from_this()](error_code error) {
      if (!error && !self->closed_ && !self->stream_.hasInput()) return self->watchForClose();
      self->close();
    });
  }

  void write(std::string bytes) {
    writing_ = true;
    auto kept = std::make_shared<const std::string>(std::move(bytes));
    stream_.expires_after(shared_->options.writeTime);
    asio::async_write(stream_, asio::buffer(*kept), [self = shared_from_this(), kept](error_code error, size_t) {
      self->writing_ = false;
      if (error || self->closed_) return self->close();
      self->stream_.expires_never();
      self->flushEvents();
    });
  }

  /// Asks, once users have changed, whether the client may still see the events.
  static Task<void> askForRights(Self self, LogIn logIn) {
    AdminApi& api = *self->shared_->api;
    const int64_t version = api.rightsVersion();
    const auto may = api.maySeeEvents(logIn);
    asio::dispatch(self->stream_.get_executor(), [self, may, version] {
      self->asking_ = false;
      if (may == false || self->closed_) return self->close();
      if (!may) return self->awaitHeartbeat();
      self->rightsAt_ = version;
      self->flushEvents();
    });
    co_return;
  }

  void flushEvents() {
    if (writing_ || asking_ || closed_ || !events_) return;
    if (eventsOf_.ends <= shared_->api->node().environment().now()) return close();
    if (rightsAt_ != shared_->api->rightsVersion()) {
      asking_ = true;
      return shared_->api->node().start(askForRights(shared_from_this(), eventsOf_));
    }
    if (std::string waiting = events_->take(); !waiting.empty()) return write(std::move(waiting));
    awaitHeartbeat();
  }

  void awaitHeartbeat() {
    heartbeat_.expires_after(shared_->options.heartbeat);
    heartbeat_.async_wait([self = shared_from_this()](error_code error) {
      if (!error && !self->writing_ && !self->asking_ && !self->closed_) self->write(": quiet\n\n");
    });
  }

  void close() {
    if (closed_) return;
    closed_ = true;
    token_.reset();
    if (events_) events_->close();
    eventsOf_ = {};
    if (counted_) --shared_->streams;
    heartbeat_.cancel();
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
    shared_->remove(shared_from_this());
  }

  const std::shared_ptr<Shared> shared_;
  HttpStream stream_;
  asio::steady_timer heartbeat_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::string remote_, address_;
  bool keepAlive_ = false, head_ = false, answering_ = false, writing_ = false, closed_ = false, counted_ = false;
  bool asking_ = false;              ///< for the rights of an event stream
  LogIn eventsOf_;                   ///< whose event stream it is
  int64_t rightsAt_ = 0;             ///< their version when the client was asked for last
  std::atomic<bool> asked_ = false;  ///< a request was read
  std::atomic<TimePoint> awaitedSince_ = shared_->api->node().environment().now();
  std::shared_ptr<EventQueue> events_;
  std::shared_ptr<void> token_;
};

void HttpServer::Shared::open() {
  if (options.tls.mode != tls::TlsMode::kDisabled) {
    auto context = tls::makeServerContext(options.tls);
    if (!context.isOK()) throw std::runtime_error("the admin endpoint: " + context.status().reason());
    tls = std::move(*context);
  }
  error_code error;
  const auto address = asio::ip::make_address(options.address == "localhost" ? "127.0.0.1" : options.address, error);
  const std::string where = options.address + ":" + std::to_string(options.port);
  if (error) throw std::runtime_error("the admin endpoint's address is no IP address: " + options.address);
  const tcp::endpoint endpoint(address, options.port);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && address.is_v6()) acceptor.set_option(asio::ip::v6_only(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(kBacklog, error);
  if (error) throw std::runtime_error("the admin endpoint cannot listen on " + where + ": " + error.message());
  port = acceptor.local_endpoint().port();
}

void HttpServer::Shared::accept() {
  const std::lock_guard lock(mutex);
  if (stopping) return;
  acceptor.async_accept(asio::make_strand(api->node().io()),
                        [self = shared_from_this()](error_code error, tcp::socket socket) {
                          if (self->stopping || error == asio::error::operation_aborted) return;
                          if (error) return self->retryLater();
                          self->admit(std::move(socket));
                          self->accept();
                        });
}

void HttpServer::Shared::admit(tcp::socket socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  auto session = std::make_shared<Session>(shared_from_this(), std::move(socket));
  const char* why = add(session);
  if (!why) return ++accepted, session->run();
  noteRefusal(session->remote(), why);
  session->refuse(why);
}

void HttpServer::Shared::retryLater() {
  const std::lock_guard lock(mutex);
  retry.expires_after(kPauseAfterFailure);
  retry.async_wait([self = shared_from_this()](error_code error) {
    if (!error) self->accept();
  });
}

const char* HttpServer::Shared::add(const std::shared_ptr<Session>& session) {
  const int64_t most = options.maxConnectionsPerAddress ? options.maxConnectionsPerAddress->load() : 0;
  std::shared_ptr<Session> displaced;
  std::unique_lock lock(mutex);
  const auto present = perAddress.find(session->address());
  if (most > 0 && present != perAddress.end() && present->second >= most) {
    displaced = displaceOne(&session->address());
    if (!displaced) return "too many connections from this address";
  } else if (sessions.size() >= options.maxConnections) {
    displaced = displaceOne();
    if (!displaced) return "too many connections to the admin endpoint";
  }
  ++perAddress[session->address()];
  sessions.insert(session);
  lock.unlock();
  if (displaced) {
    noteRefusal(displaced->remote(), "another connection needed its place");
    displaced->stop();
  }
  return nullptr;
}

std::shared_ptr<HttpServer::Session> HttpServer::Shared::displaceOne(const std::string* address) {
  std::shared_ptr<Session> found;
  int64_t most = 0;
  for (const auto& weak : sessions) {
    const auto session = weak.lock();
    if (!session || session->awaitedSince() == TimePoint::max()) continue;
    if (address && (session->address() != *address || session->hasAsked())) continue;
    const int64_t ofAddress = perAddress[session->address()];
    if (found && (ofAddress < most || (ofAddress == most && session->awaitedSince() >= found->awaitedSince())))
      continue;
    most = ofAddress;
    found = session;
  }
  if (!found) return nullptr;
  sessions.erase(found);
  forget(found->address());
  return found;
}

void HttpServer::Shared::forget(const std::string& address) {
  const auto ofAddress = perAddress.find(address);
  if (--ofAddress->second == 0) perAddress.erase(ofAddress);
}

void HttpServer::Shared::remove(const std::shared_ptr<Session>& session) {
  const std::lock_guard lock(mutex);
  if (sessions.erase(session) > 0) forget(session->address());
}

bool HttpServer::Shared::isInTime(const std::string& address) {
  const auto rate =
      static_cast<double>(options.requestsPerSecondPerAddress ? options.requestsPerSecondPerAddress->load() : 0);
  const TimePoint now = api->node().environment().now();
  const std::lock_guard lock(mutex);
  return buckets.take(address, now, {rate, rate * kBurstSeconds});
}

void HttpServer::Shared::noteRefusal(const std::string& remote, std::string_view why) {
  ++refused;
  if (options.onRefused) options.onRefused(remote, why);
}

HttpServer::HttpServer(std::shared_ptr<AdminApi> api, HttpServerOptions options)
    : shared_(std::make_shared<Shared>(std::move(api), std::move(options))) {
  shared_->open();
  shared_->accept();
}

HttpServer::~HttpServer() { stop(); }

uint16_t HttpServer::port() const { return shared_->port; }

void HttpServer::stop() {
  if (shared_->stopping.exchange(true)) return;
  std::set<std::weak_ptr<Session>, std::owner_less<>> sessions;
  {
    const std::lock_guard lock(shared_->mutex);
    error_code ignored;
    shared_->acceptor.close(ignored);
    shared_->retry.cancel();
    sessions = shared_->sessions;
  }
  for (const auto& weak : sessions)
    if (const auto session = weak.lock()) session->stop();
}

bson::Document HttpServer::describe() const {
  size_t open;
  {
    const std::lock_guard lock(shared_->mutex);
    open = shared_->sessions.size();
  }
  return bson::doc("address", shared_->options.address, "port", static_cast<int32_t>(shared_->port), "tls",
                   tls::tlsModeName(shared_->options.tls.mode), "open", static_cast<int64_t>(open), "eventStreams",
                   static_cast<int64_t>(shared_->streams.load()), "accepted", shared_->accepted.load(), "refused",
                   shared_->refused.load(), "requests", shared_->requests.load(), "malformed",
                   shared_->failures.load());
}

}  // namespace troupe::supervisors
