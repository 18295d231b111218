#include "supervisors/daemon/settings.hpp"

#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace troupe::supervisors {

namespace {
constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr int64_t kSmallestOperationMemory = int64_t{64} << 20;
}  // namespace

std::vector<std::string> splitList(const std::string& text) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

int64_t memoryOfMachine() {
  struct sysinfo memory {};
  sysinfo(&memory);
  auto total = static_cast<int64_t>(memory.totalram) * memory.mem_unit;
  std::string group;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);)
    if (line.starts_with("0::")) group = line.substr(3);
  // A process of a container sees its own group as the root. Each limit on the way up holds.
  for (std::string path = group == "/" ? "" : group;; path.resize(path.rfind('/'))) {
    int64_t limit = 0;  // "max" is no number
    if (std::ifstream("/sys/fs/cgroup" + path + "/memory.max") >> limit) total = std::min(total, limit);
    if (path.find('/') == std::string::npos) return total;
  }
}

int64_t cacheBytes(const Options& options) {
  if (options.cacheSizeGB > 0) return static_cast<int64_t>(options.cacheSizeGB * kGiB);
  const auto total = static_cast<double>(memoryOfMachine());
  return static_cast<int64_t>(std::max(kSmallestCacheGB * kGiB, (total - kGiB) / 2));
}

int64_t operationMemoryBytes() { return std::max(kSmallestOperationMemory, memoryOfMachine() / 4); }

log::Options logOptions(const Options& options) {
  log::Options result;
  const bool text =
      options.logFormat.empty() ? options.logPath.empty() && isatty(STDOUT_FILENO) : options.logFormat == "text";
  result.format = text ? log::Format::kText : log::Format::kJson;
  result.file = options.logPath;
  result.verbosity = static_cast<int>(options.verbosity);
  return result;
}

std::string reachableName(const Options& options) {
  std::string host = splitList(options.bindIp).empty() ? "" : splitList(options.bindIp)[0];
  if (host.empty() || host == "0.0.0.0" || host == "::" || host == "*") {
    char name[256] = "localhost";
    gethostname(name, sizeof name - 1);
    host = name;
  }
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  return host + ":" + std::to_string(options.port);
}

std::string localSocketPath(const Options& options) {
  constexpr std::string_view kOwn[] = {"localhost", "127.0.0.1", "::1", "0.0.0.0", "::", "*"};
  const auto addresses = splitList(options.bindIp);
  const bool servesThisMachine = std::ranges::find_first_of(addresses, kOwn) != addresses.end();
  if (!options.unixSocket || !servesThisMachine) return {};
  return options.unixSocketPrefix + "/mongodb-" + std::to_string(options.port) + ".sock";
}

StatusWith<unsigned> localSocketPermissions(const Options& options) {
  constexpr unsigned kAll = 0777;
  constexpr int kOctal = 8;
  const std::string& text = options.filePermissions;
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits, kOctal);
  if (error == std::errc() && end == text.data() + text.size() && bits <= kAll) return bits;
  return Status(ErrorCode::kBadValue, "--filePermissions must be an octal number up to 0777, not '" + text + "'");
}

StatusWith<std::vector<wire::Compressor>> compressors(const std::string& names) {
  std::vector<wire::Compressor> result;
  if (names == "disabled") return result;
  for (const auto& name : splitList(names)) {
    const auto compressor = wire::compressorByName(name);
    if (!compressor)
      return Status(ErrorCode::kBadValue, "--networkMessageCompressors: unknown compressor '" + name +
                                              "', use snappy, zstd, zlib or disabled");
    result.push_back(*compressor);
  }
  return result;
}

StatusWith<tls::TlsOptions> tlsOptions(const Options& options) {
  tls::TlsOptions result;
  TROUPE_ASSIGN(result.mode, tls::tlsModeByName(options.tlsMode));
  result.certificateKeyFile = options.tlsCertificateKeyFile;
  result.caFile = options.tlsCAFile;
  result.allowConnectionsWithoutCertificates = options.tlsAllowConnectionsWithoutCertificates;
  return result;
}

StatusWith<tls::TlsOptions> adminTlsOptions(const Options& options) {
  tls::TlsOptions result;
  auto mode = tls::tlsModeByName(options.adminTlsMode);
  if (!mode.isOK()) return mode.status().withContext("--adminTlsMode");
  result.mode = *mode;
  if (result.mode != tls::TlsMode::kDisabled) result.certificateKeyFile = options.tlsCertificateKeyFile;
  return result;
}

}  // namespace troupe::supervisors
