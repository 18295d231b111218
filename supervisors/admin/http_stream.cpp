#include "supervisors/admin/http_stream.hpp"

#include <sys/socket.h>

#include <boost/beast/core/detect_ssl.hpp>
#include <cerrno>

namespace troupe::supervisors {

namespace asio = boost::asio;

bool HttpStream::hasInput() {
  char byte = 0;
  const ssize_t found = ::recv(socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return found >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void HttpStream::greet(std::shared_ptr<asio::ssl::context> context, boost::beast::flat_buffer& buffer,
                       std::function<void(error_code)> done) {
  auto detected = [this, context = std::move(context), &buffer, done = std::move(done)](error_code error,
                                                                                        bool isTls) mutable {
    if (error || !isTls) return done(error);
    context_ = std::move(context);
    tls_.emplace(tcp_, *context_);
    tls_->async_handshake(asio::ssl::stream_base::server, buffer.data(),
                          [&buffer, done = std::move(done)](error_code failed, size_t used) {
                            buffer.consume(used);
                            done(failed);
                          });
  };
  boost::beast::async_detect_ssl(tcp_, buffer, std::move(detected));
}

void HttpStream::readSome(std::vector<asio::mutable_buffer> into, Done done) {
  if (tls_) tls_->async_read_some(into, std::move(done));
  else tcp_.async_read_some(into, std::move(done));
}

void HttpStream::writeSome(std::vector<asio::const_buffer> from, Done done) {
  if (tls_) tls_->async_write_some(from, std::move(done));
  else tcp_.async_write_some(from, std::move(done));
}

}  // namespace troupe::supervisors
