#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "messaging/log/log.hpp"
#include "messaging/tls/options.hpp"
#include "messaging/wire/op_compressed.hpp"
#include "supervisors/daemon/options.hpp"

namespace troupe::supervisors {

// Settings of the daemon's parts, from the options and from the machine it runs on.

/// The parts of a list that is separated by commas; empty ones are left out.
std::vector<std::string> splitList(const std::string& text);
/// The memory of the machine, or of the control group that the process runs in, if that is less; in bytes.
int64_t memoryOfMachine();
/// The memory of all operations together, unless it is set: a quarter of the machine's, 64 MiB at least.
int64_t operationMemoryBytes();
/// Size of the storage cache: as asked for, else half of the memory beyond 1 GiB.
int64_t cacheBytes(const Options& options);
log::Options logOptions(const Options& options);
/// The name by which other members reach this node if nothing else is said: an address it listens on, or its host's
/// name.
std::string reachableName(const Options& options);
/// Path of the UNIX domain socket; empty where there is none: it was turned off, or clients on this machine are not
/// served on its own address either.
std::string localSocketPath(const Options& options);
/// Errors: BadValue (no octal number up to 0777).
StatusWith<unsigned> localSocketPermissions(const Options& options);
/// Errors: BadValue (a name that is none).
StatusWith<std::vector<wire::Compressor>> compressors(const std::string& names);

/// The TLS options of the daemon, for clients and links alike. Errors: BadValue.
StatusWith<tls::TlsOptions> tlsOptions(const Options& options);

/// The TLS options of the admin endpoint: the same certificate, but no CA for client certificates, since people log in
/// by password. Errors: BadValue.
StatusWith<tls::TlsOptions> adminTlsOptions(const Options& options);

}  // namespace troupe::supervisors
