#include "supervisors/daemon/options.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <variant>

#include "actors/server/parameters.hpp"
#include "messaging/bson/json.hpp"
#include "messaging/link/node_name.hpp"
#include "supervisors/arguments/argument_parser.hpp"
#include "supervisors/daemon/settings.hpp"

namespace troupe::supervisors {

namespace {

using Target = std::variant<std::string Options::*, int64_t Options::*, double Options::*, bool Options::*>;

/// One option in both of its spellings.
struct OptionRow {
  const char* flag;
  const char* yaml;
  Target target;
  const char* help;
  std::vector<std::string> oneOf = {};  ///< the values allowed; empty: any
  const char* yes = "true";             ///< what a YAML string must be to set a flag

  /// "--auth" of "--auth,!--noauth".
  std::string name() const { return std::string(flag).substr(0, std::string(flag).find(',')); }
};

const std::vector<std::string> kTlsModes = {"disabled", "allowTLS", "preferTLS", "requireTLS"};

const OptionRow kRows[] = {
    {"--port", "net.port", &Options::port, "port to listen on"},
    {"--bind_ip", "net.bindIp", &Options::bindIp, "addresses to listen on, separated by commas"},
    {"--unixsocket,!--nounixsocket", "net.unixDomainSocket.enabled", &Options::unixSocket,
     "also listen on the UNIX domain socket mongodb-<port>.sock, if this machine's own address is listened on"},
    {"--unixSocketPrefix", "net.unixDomainSocket.pathPrefix", &Options::unixSocketPrefix,
     "folder of the UNIX domain socket"},
    {"--filePermissions", "net.unixDomainSocket.filePermissions", &Options::filePermissions,
     "permissions of the UNIX domain socket, as an octal number"},
    {"--maxConns", "net.maxIncomingConnections", &Options::maxConnections,
     "connections served at once; fewer where the limit of open files (`ulimit -n`) does not allow them"},
    {"--networkMessageCompressors", "net.compression.compressors", &Options::compressors,
     "compressors offered: snappy,zstd,zlib or disabled"},
    {"--tlsMode", "net.tls.mode", &Options::tlsMode, "disabled, allowTLS, preferTLS or requireTLS", kTlsModes},
    {"--tlsCertificateKeyFile", "net.tls.certificateKeyFile", &Options::tlsCertificateKeyFile,
     "PEM file with the server's certificate and key"},
    {"--tlsCAFile", "net.tls.CAFile", &Options::tlsCAFile, "PEM file with the authorities clients are checked against"},
    {"--tlsAllowConnectionsWithoutCertificates", "net.tls.allowConnectionsWithoutCertificates",
     &Options::tlsAllowConnectionsWithoutCertificates,
     "accept clients without a certificate although a CA file is given"},
    {"--admin-port", "admin.port", &Options::adminPort, "port of the admin endpoint (0: none)"},
    {"--admin-bind-ip", "admin.bindIp", &Options::adminBindIp, "address of the admin endpoint"},
    {"--adminTlsMode", "admin.tls.mode", &Options::adminTlsMode,
     "disabled, allowTLS, preferTLS or requireTLS for the admin endpoint, with the certificate of "
     "--tlsCertificateKeyFile",
     kTlsModes},
    {"--dbpath", "storage.dbPath", &Options::dbPath, "data directory"},
    {"--wiredTigerCacheSizeGB", "storage.wiredTiger.engineConfig.cacheSizeGB", &Options::cacheSizeGB,
     "size of the storage cache in GiB"},
    {"--maxOpenTables", "storage.maxOpenTables", &Options::maxOpenTables,
     "collections and indexes whose files are open at once (0: what the limit of open files leaves)"},
    {"--journal,!--nojournal", "storage.journal.enabled", &Options::journal,
     "keep a journal (--nojournal: checkpoints only)"},
    {"--repair", "storage.repair", &Options::repair,
     "mend what is damaged in the data directory, then exit; not with --replSet"},
    {"--journalCommitInterval", "storage.journal.commitIntervalMs", &Options::journalCommitIntervalMs,
     "milliseconds between flushes of the journal"},
    {"--syncdelay", "storage.syncPeriodSecs", &Options::syncPeriodSecs, "seconds between checkpoints"},
    {"--auth,!--noauth", "security.authorization", &Options::auth, "require authentication", {}, "enabled"},
    {"--keyFile", "security.keyFile", &Options::keyFile, "file with the secret the nodes of a cluster share"},
    {"--clusterAuthMode",
     "security.clusterAuthMode",
     &Options::clusterAuthMode,
     "how nodes prove to each other that they belong together: keyFile, or none (trust every host that reaches the "
     "port)",
     {"keyFile", "none"}},
    {"--replSet", "replication.replSetName", &Options::replSet,
     "name of the replica set that this node is a member of"},
    {"--oplogSize", "replication.oplogSizeMB", &Options::oplogSizeMB,
     "size of this member's log in MiB, kept for members that fall behind; once it is there, replSetResizeOplog "
     "changes it"},
    {"--oplogMinRetentionHours", "storage.oplogMinRetentionHours", &Options::oplogMinRetentionHours,
     "hours for which entries stay in this member's log, whatever its size"},
    {"--nodeName", "net.nodeName", &Options::nodeName,
     "host:port by which the other nodes of a cluster reach this one"},
    {"--logpath", "systemLog.path", &Options::logPath, "log file instead of standard output"},
    {"--logappend", "systemLog.logAppend", &Options::logAppend, "append to the log file"},
    {"--logFormat", "systemLog.format", &Options::logFormat, "json or text", {"json", "text"}},
    {"--slowms", "operationProfiling.slowOpThresholdMs", &Options::slowMs,
     "operations that take longer are logged, in milliseconds"},
    {"--verbose", "systemLog.verbosity", &Options::verbosity,
     "how much more is logged, 0 to 5 (while it runs: the parameters logLevel and logComponentVerbosity)"},
    {"--threads", "processManagement.threads", &Options::threads,
     "threads that serve connections and actors (0: one a core)"},
    {"--openFilesReserve", "processManagement.openFilesReserve", &Options::openFilesReserve,
     "descriptors kept free of connections and tables (0: a tenth of the limit of open files, at least 64)"},
    {"--pidfilepath", "processManagement.pidFilePath", &Options::pidFilePath, "file to write the process id to"},
};

/// The options given so far as nested YAML-shaped documents: "net.port" -> {net: {port: ...}}.
class Given {
 public:
  void set(const std::string& path, bson::Value value) { values_[path] = std::move(value); }
  bson::Document toDocument() const { return nest(values_); }

 private:
  using Values = std::map<std::string, bson::Value>;
  static bson::Document nest(const Values& values) {
    std::map<std::string, Values> groups;
    bson::Builder b;
    for (const auto& [path, value] : values) {
      const auto dot = path.find('.');
      if (dot == std::string::npos) b.append(path, value);
      else groups[path.substr(0, dot)][path.substr(dot + 1)] = value;
    }
    for (const auto& [name, members] : groups) b.append(name, nest(members));
    return b.finish();
  }
  Values values_;
};

bson::Value valueOf(const Options& options, const Target& target) {
  return std::visit([&](auto member) { return bson::Value(options.*member); }, target);
}

/// A text that is given is not empty: what it names would be left out without a word.
Status refuseEmpty(const Options& options, const OptionRow& row, const std::string& name) {
  const auto* text = std::get_if<std::string Options::*>(&row.target);
  if (!text || !(options.**text).empty()) return Status::OK();
  return {ErrorCode::kBadValue, name + " must not be empty"};
}

Status setFromYaml(Options& options, const OptionRow& row, const YAML::Node& node) {
  try {
    std::visit(
        [&](auto member) {
          using T = std::decay_t<decltype(options.*member)>;
          if constexpr (std::is_same_v<T, bool>) {
            const auto text = node.as<std::string>();
            options.*member = text == row.yes || text == "true" || text == "enabled";
          } else {
            options.*member = node.as<T>();
          }
        },
        row.target);
  } catch (const YAML::Exception&) {
    return {ErrorCode::kBadValue, std::string(row.yaml) + ": the value has the wrong type"};
  }
  return Status::OK();
}

Status readParameters(const YAML::Node& node, Options& options, Given& given) {
  if (!node.IsMap()) return {ErrorCode::kBadValue, "setParameter must be a map of names and values"};
  for (const auto& entry : node) {
    const auto name = entry.first.as<std::string>();
    const auto text = entry.second.as<std::string>("");
    options.setParameters.push_back(name + "=" + text);
    given.set("setParameter." + name, bson::Value(text));
  }
  return Status::OK();
}

/// Walks the file; every leaf must be the path of a row.
Status readYaml(const YAML::Node& node, const std::string& path, Options& options, Given& given) {
  if (path == "setParameter") return readParameters(node, options, given);
  if (path == "systemLog.destination" || path == "processManagement.fork" || path == "processManagement.timeZoneInfo" ||
      path == "storage.engine")
    return Status::OK();
  for (const OptionRow& row : kRows) {
    if (path != row.yaml) continue;
    TROUPE_TRY(setFromYaml(options, row, node));
    TROUPE_TRY(refuseEmpty(options, row, row.yaml));
    given.set(path, valueOf(options, row.target));
    return Status::OK();
  }
  if (!node.IsMap()) return {ErrorCode::kBadValue, "unrecognized option: " + path};
  for (const auto& entry : node) {
    const auto name = entry.first.as<std::string>();
    TROUPE_TRY(readYaml(entry.second, path.empty() ? name : path + "." + name, options, given));
  }
  return Status::OK();
}

Status readConfigFile(const std::string& file, Options& options, Given& given) {
  try {
    const YAML::Node root = YAML::LoadFile(file);
    if (root.IsNull()) return Status::OK();
    if (!root.IsMap()) return {ErrorCode::kFailedToParse, file + ": the file must hold a map of options"};
    return readYaml(root, "", options, given).withContext(file);
  } catch (const YAML::BadFile&) {
    return {ErrorCode::kFileNotOpen, "cannot read the configuration file " + file};
  } catch (const YAML::Exception& e) {
    return {ErrorCode::kFailedToParse, file + ": " + e.what()};
  }
}

/// The file may hold what the command line refuses.
Status checkChoices(const Options& options) {
  for (const OptionRow& row : kRows) {
    if (row.oneOf.empty()) continue;
    const std::string& value = options.*std::get<std::string Options::*>(row.target);
    if (value.empty() || std::find(row.oneOf.begin(), row.oneOf.end(), value) != row.oneOf.end()) continue;
    std::string allowed;
    for (const auto& one : row.oneOf) allowed += (allowed.empty() ? "" : ", ") + one;
    return {ErrorCode::kBadValue, row.name() + " must be one of " + allowed + ", not '" + value + "'"};
  }
  return Status::OK();
}

Status checkValues(const Options& options) {
  const auto between = [](const char* name, int64_t v, int64_t low, int64_t high) {
    if (v >= low && v <= high) return Status::OK();
    return Status(ErrorCode::kBadValue,
                  std::string(name) + " must be between " + std::to_string(low) + " and " + std::to_string(high));
  };
  TROUPE_TRY(between("--port", options.port, 1, 65535));
  TROUPE_TRY(between("--admin-port", options.adminPort, 0, 65535));
  TROUPE_TRY(between("--maxConns", options.maxConnections, 5, 1'000'000));
  TROUPE_TRY(between("--journalCommitInterval", options.journalCommitIntervalMs, 1, 500));
  TROUPE_TRY(between("--syncdelay", options.syncPeriodSecs, 0, 9'000'000));
  TROUPE_TRY(between("--verbose", options.verbosity, 0, 5));
  if (options.cacheSizeGB != 0 && !(options.cacheSizeGB >= kSmallestCacheGB && options.cacheSizeGB <= 10'000)) {
    return {
        ErrorCode::kBadValue,
        "--wiredTigerCacheSizeGB must be between 0.25 and 10000: with less than 0.25 a few large documents fill the "
        "cache; leave the option out for half of the memory beyond 1 GiB"};
  }
  TROUPE_TRY(between("--maxOpenTables", options.maxOpenTables, 0, 1'000'000));
  TROUPE_TRY(between("--openFilesReserve", options.openFilesReserve, 0, 1'000'000));
  TROUPE_TRY(between("--threads", options.threads, 0, 512));
  TROUPE_TRY(between("--oplogSize", options.oplogSizeMB, 1, int64_t{1} << 30));
  if (!(options.oplogMinRetentionHours >= 0 && options.oplogMinRetentionHours < 1e9))
    return {ErrorCode::kBadValue, "--oplogMinRetentionHours must be a number of hours from 0 on"};
  TROUPE_TRY(checkChoices(options));
  TROUPE_TRY(localSocketPermissions(options).status());
  if (options.clusterAuthMode == "none" && !options.keyFile.empty())
    return {ErrorCode::kBadValue, "--clusterAuthMode none contradicts --keyFile"};
  if (options.repair && !options.replSet.empty())
    return {ErrorCode::kBadValue,
            "--repair contradicts --replSet: a repair changes data of which the other members do not hear; let the "
            "member copy the data of another one instead"};
  if (!options.nodeName.empty()) TROUPE_TRY(link::splitNodeName(options.nodeName).status().withContext("--nodeName"));
  return Status::OK();
}

/// As JSON; of a number with a fraction no more digits than it takes to read the same one back.
std::string shownValue(const bson::Element& value) {
  if (!value.is(bson::Type::kDouble)) return bson::toRelaxedJson(value);
  char text[32];
  const auto written = std::to_chars(std::begin(text), std::end(text), value.toDouble());
  const std::string shortest(text, written.ptr);
  return shortest.find_first_of(".e") == std::string::npos ? shortest + ".0" : shortest;
}

}  // namespace

StatusWith<Options> parseOptions(int argc, const char* const* argv) {
  // Two passes: the file named on the command line comes first, then the command line again on top of it.
  Options options;
  Given given;
  for (const bool second : {false, true}) {
    ArgumentParser program("trouped - a clustered document database in which every service is a supervised actor",
                           "trouped");
    std::string configFile;
    for (const OptionRow& row : kRows) {
      const ArgumentRules rules{.showDefault = !std::holds_alternative<bool Options::*>(row.target),
                                .oneOf = row.oneOf};
      std::visit([&](auto member) { program.add(row.flag, &(options.*member), row.help, rules); }, row.target);
    }
    program.add("-f,--config", &configFile, "YAML file with options");
    std::vector<std::string> parameters;
    program.add("--setParameter", &parameters, "server parameter, name=value (may be repeated)");
    program.add("--version", &options.showVersion, "print the version and exit");
    program.add("--list-commands", &options.listCommands, "print the commands of the wire protocol and exit");
    program.add("--commands-page", &options.commandsPage, "print docs/commands.md and exit");
    program.add("--options-page", &options.optionsPage, "print docs/operators/options.md and exit");
    const auto outcome = program.parse(argc, argv);
    if (outcome.kind == ArgumentParser::Outcome::kWrong) return Status(ErrorCode::kBadValue, outcome.text);
    if (outcome.kind == ArgumentParser::Outcome::kTell) {
      options.help = outcome.text;
      return options;
    }
    if (!second) {
      if (!configFile.empty()) {
        options = Options();
        TROUPE_TRY(readConfigFile(configFile, options, given));
        given.set("config", bson::Value(configFile));
      }
      continue;
    }
    options.setParameters.insert(options.setParameters.end(), parameters.begin(), parameters.end());
    for (const auto& parameter : parameters) {
      const auto equals = parameter.find('=');
      if (equals == std::string::npos)
        return Status(ErrorCode::kBadValue, "--setParameter takes name=value, not '" + parameter + "'");
      given.set("setParameter." + parameter.substr(0, equals), bson::Value(parameter.substr(equals + 1)));
    }
    for (const OptionRow& row : kRows) {
      if (!program.given(row.name())) continue;
      TROUPE_TRY(refuseEmpty(options, row, row.name()));
      given.set(row.yaml, valueOf(options, row.target));
    }
  }
  TROUPE_TRY(checkValues(options));
  options.parsed = given.toDocument();
  options.argv.assign(argv, argv + argc);
  return options;
}

std::string optionsPage() {
  std::string page =
      "# Options and parameters\n\n"
      "Generated by `trouped --options-page` (`./dev docs`); do not edit. The command line wins over the file given "
      "by\n"
      "`--config`.\n\n"
      "| option | in the file | default | meaning |\n|---|---|---|---|\n";
  const Options defaults;
  for (const OptionRow& row : kRows) {
    std::string flag = row.flag;
    if (const auto comma = flag.find(",!"); comma != std::string::npos) flag.replace(comma, 2, "`, `");
    const bson::Value value = valueOf(defaults, row.target);
    const bool empty = value.element().toStringOr("-").empty();
    page += "| `" + flag + "` | `" + row.yaml + "` | " +
            (empty ? "" : "`" + bson::toRelaxedJson(value.element()) + "`") + " | " + row.help + " |\n";
  }
  page +=
      "\n`--setParameter NAME=VALUE` (in the file: the map `setParameter`) sets a server parameter; some can be "
      "changed by the\n"
      "command `setParameter` while the server runs:\n\n| parameter | default | at run time |\n|---|---|---|\n";
  const server::Parameters parameters;
  for (const auto name : parameters.names()) {
    page += "| `" + std::string(name) + "` | `" + shownValue(parameters.get(name).element()) + "` | " +
            (parameters.settableAtRuntime(name) ? "yes" : "no") + " |\n";
  }
  return page;
}

}  // namespace troupe::supervisors
