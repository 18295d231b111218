#include "messaging/auth/keyfile.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>

namespace troupe::auth {
namespace {

constexpr size_t kMinLength = 6;
constexpr size_t kMaxLength = 1024;
constexpr std::streamsize kMaxFile = 64 * 1024;

bool isBase64(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '+' || c == '/' || c == '='; }

}  // namespace

StatusWith<std::string> readKeyFile(const std::filesystem::path& path) {
  using std::filesystem::perms;
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error || !std::filesystem::is_regular_file(status))
    return {ErrorCode::kFileNotOpen,
            "cannot read the key file " + path.string() + (error ? ": " + error.message() : ": it is not a file")};
  if ((status.permissions() & (perms::group_all | perms::others_all)) != perms::none)
    return {ErrorCode::kBadValue,
            "permissions on " + path.string() + " are too open; allow its owner alone (chmod 600)"};

  std::ifstream file(path, std::ios::binary);
  if (!file) return {ErrorCode::kFileNotOpen, "cannot read the key file " + path.string()};
  std::string key(kMaxFile, '\0');
  file.read(key.data(), kMaxFile);
  key.resize(static_cast<size_t>(file.gcount()));
  std::erase_if(key, [](unsigned char c) { return std::isspace(c); });

  if (!std::ranges::all_of(key, isBase64))
    return {ErrorCode::kBadValue, "the key file " + path.string() + " holds characters that are not base64"};
  if (key.size() < kMinLength || key.size() > kMaxLength)
    return {ErrorCode::kBadValue,
            "the key in " + path.string() + " has " + std::to_string(key.size()) + " characters; it needs 6 to 1024"};
  return key;
}

}  // namespace troupe::auth
