#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace troupe::auth {

/// MD5 of bytes that come piece by piece. For checksums that clients compare with each other, not for secrets.
class Md5 {
 public:
  Md5();
  Md5(Md5&&) noexcept;
  ~Md5();
  void add(std::string_view bytes);
  /// The digest in hexadecimal digits; nothing may be added afterwards.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe::auth
