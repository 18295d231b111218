#include "server_process.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "messaging/client/connection.hpp"

namespace troupe::demo {

namespace {

sigset_t signals(std::initializer_list<int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) sigaddset(&set, number);
  return set;
}

/// In the child: becomes the server. The terminal's Ctrl-C is for the parent, which stops the server in order.
[[noreturn]] void becomeServer(const std::vector<std::string>& arguments, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  const sigset_t none = signals({});
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(127);
}

}  // namespace

StopSignals::StopSignals() {
  const sigset_t set = signals({SIGINT, SIGTERM, SIGCHLD});
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

bool StopSignals::came() {
  const sigset_t set = signals({SIGINT, SIGTERM});
  const timespec now{};
  if (!came_ && sigtimedwait(&set, nullptr, &now) > 0) came_ = true;
  return came_;
}

bool StopSignals::wait(const std::function<bool()>& goOn) {
  const sigset_t set = signals({SIGINT, SIGTERM, SIGCHLD});
  int number = 0;
  while (!came_ && sigwait(&set, &number) == 0) {
    // Other children may have ended as well, some of them long ago.
    if (number != SIGCHLD) came_ = true;
    else if (!goOn()) return false;
  }
  return true;
}

Status ServerProcess::start(const Options& options, const std::function<bool()>& goOn) {
  const std::vector<std::string> arguments = {options.program,
                                              "--dbpath",
                                              options.dbPath,
                                              "--port",
                                              std::to_string(options.port),
                                              "--admin-port",
                                              std::to_string(options.adminPort),
                                              "--logpath",
                                              options.logPath,
                                              "--logappend"};
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) return {ErrorCode::kInternalError, std::string("cannot start a process: ") + std::strerror(errno)};
  if (pid_ == 0) becomeServer(arguments, parent);
  return waitUntilReady(options, goOn);
}

Status ServerProcess::waitUntilReady(const Options& options, const std::function<bool()>& goOn) {
  using Clock = std::chrono::steady_clock;
  // Recovery after a crash may take a while.
  const auto deadline = Clock::now() + std::chrono::minutes(1);
  while (Clock::now() < deadline) {
    if (!running()) return {ErrorCode::kHostUnreachable, "the server did not start; its log is " + options.logPath};
    if (!goOn()) return {ErrorCode::kInterrupted, "stopped"};
    client::Target target;
    target.port = options.port;
    target.socketTimeoutMs = 5000;
    if (client::Connection::open(target).isOK()) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return {ErrorCode::kExceededTimeLimit, "the server is not ready after a minute; its log is " + options.logPath};
}

bool ServerProcess::running() {
  if (pid_ < 0) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == 0) return true;
  exitCode_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  pid_ = -1;
  return false;
}

int ServerProcess::stop() {
  if (pid_ >= 0 && running()) {
    kill(pid_, SIGTERM);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    exitCode_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    pid_ = -1;
  }
  return exitCode_;
}

}  // namespace troupe::demo
