#include "supervisors/daemon/option_files.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "messaging/auth/keyfile.hpp"
#include "messaging/tls/context.hpp"
#include "supervisors/daemon/settings.hpp"

namespace troupe::supervisors {

namespace fs = std::filesystem;

namespace {

Status wrong(const std::string& option, const std::string& reason) {
  return {ErrorCode::kInvalidOptions, option + ": " + reason};
}

Status checkWritable(const std::string& option, const std::string& path) {
  if (path.empty()) return Status::OK();
  std::error_code error;
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error)) return wrong(option, "the folder " + folder.string() + " does not exist");
  if (fs::is_directory(path, error)) return wrong(option, path + " is a folder");
  const std::string written = fs::exists(path, error) ? path : folder.string();
  if (access(written.c_str(), W_OK) != 0) return wrong(option, "cannot write " + path + ": " + std::strerror(errno));
  return Status::OK();
}

Status checkReadable(const std::string& option, const std::string& path) {
  if (path.empty() || access(path.c_str(), R_OK) == 0) return Status::OK();
  return wrong(option, "cannot read " + path + ": " + std::strerror(errno));
}

/// `option` names the mode that needs the files.
Status checkTls(const std::string& option, const StatusWith<tls::TlsOptions>& made) {
  if (!made.isOK()) return wrong(option, made.status().reason());
  if (made->mode == tls::TlsMode::kDisabled) return Status::OK();
  TROUPE_TRY(checkReadable(option + ": --tlsCertificateKeyFile", made->certificateKeyFile));
  TROUPE_TRY(checkReadable(option + ": --tlsCAFile", made->caFile));
  const auto context = tls::makeServerContext(*made);
  return context.isOK() ? Status::OK() : wrong(option, context.status().reason());
}

}  // namespace

Status checkLogFile(const Options& options) { return checkWritable("--logpath", options.logPath); }

Status checkFiles(const Options& options) {
  TROUPE_TRY(checkLogFile(options));
  TROUPE_TRY(checkWritable("--pidfilepath", options.pidFilePath));
  if (!options.keyFile.empty()) {
    const auto key = auth::readKeyFile(options.keyFile);
    if (!key.isOK()) return wrong("--keyFile", key.status().reason());
  }
  TROUPE_TRY(checkTls("--tlsMode", tlsOptions(options)));
  return options.adminPort > 0 ? checkTls("--adminTlsMode", adminTlsOptions(options)) : Status::OK();
}

}  // namespace troupe::supervisors
