#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::supervisors {

/// GiB; also what is taken when nothing is said on a machine with little memory.
inline constexpr double kSmallestCacheGB = 0.25;

/// Options of `trouped`: command line first, then the YAML file, then these defaults.
struct Options {
  // net
  int64_t port = 27017;
  std::string bindIp = "127.0.0.1";
  int64_t maxConnections = 10'000;
  bool unixSocket = true;
  std::string unixSocketPrefix = "/tmp";
  std::string filePermissions = "0700";  ///< of the UNIX domain socket; octal
  std::string compressors = "snappy,zstd,zlib";
  std::string tlsMode = "disabled";
  std::string tlsCertificateKeyFile;
  std::string tlsCAFile;
  bool tlsAllowConnectionsWithoutCertificates = false;
  // admin
  int64_t adminPort = 0;  ///< 0: no admin endpoint
  std::string adminBindIp = "127.0.0.1";
  std::string adminTlsMode = "disabled";
  // storage
  std::string dbPath = "/data/db";
  double cacheSizeGB = 0;     ///< 0: half of what the machine has beyond 1 GiB, at least 0.25
  int64_t maxOpenTables = 0;  ///< 0: what the limit of open files leaves
  bool journal = true;
  bool repair = false;  ///< mend the data directory and exit
  int64_t journalCommitIntervalMs = 100;
  int64_t syncPeriodSecs = 60;
  // security
  bool auth = false;
  std::string keyFile;
  std::string clusterAuthMode = "keyFile";  ///< "keyFile", or "none": links to other nodes need no key
  // cluster
  std::string replSet;   ///< name of the replica set this node belongs to; empty: it stands alone
  int64_t oplogSizeMB = 990;  ///< what the log of a replica set's member takes before its oldest entries go, in MiB
  double oplogMinRetentionHours = 0;  ///< for which entries of the log stay, whatever its size
  std::string nodeName;  ///< "host:port" by which the other nodes reach this one; empty: it has no links without a key
  // log
  std::string logPath;
  bool logAppend = false;
  std::string logFormat;  ///< "json" or "text"; empty: text on a terminal, else JSON
  int64_t slowMs = 100;
  int64_t verbosity = 0;
  // process
  int64_t threads = 0;           ///< threads of the pool; 0: as many as cores
  int64_t openFilesReserve = 0;  ///< descriptors kept for the engine; 0: a tenth of the limit, at least 64
  std::string pidFilePath;
  std::vector<std::string> setParameters;  ///< "name=value"

  // Instead of serving
  bool showVersion = false;
  bool listCommands = false;
  bool commandsPage = false;
  bool optionsPage = false;
  std::string help;  ///< text to print when --help was given

  /// The options that were given, shaped as the YAML file is, for getCmdLineOpts.
  bson::Document parsed;
  std::vector<std::string> argv;
};

/// Reads the command line and the file it names (`--config`). Errors: BadValue or FailedToParse with one line that
/// names the option.
StatusWith<Options> parseOptions(int argc, const char* const* argv);

/// docs/operators/options.md as Markdown: every option with its place in the YAML file and its default, and every
/// server parameter.
std::string optionsPage();

}  // namespace troupe::supervisors
