#include "supervisors/cli/member_process.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace troupe::supervisors {

namespace {

/// What the processes behind a start report: the first its child's id, the child why it could not become the program.
struct Report {
  pid_t pid = 0;
  int error = 0;
};

/// In the child: becomes the program. Only what is safe between fork and exec.
[[noreturn]] void become(char* const* argv, const char* errors, int reports) {
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  const int written = open(errors, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  dup2(nothing, STDIN_FILENO);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) dup2(written < 0 ? nothing : written, fd);
  close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);  // what the starter was given by others
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  execv(argv[0], argv);
  const Report failed{0, errno};
  [[maybe_unused]] const auto told = write(reports, &failed, sizeof failed);
  _exit(127);
}

/// Two forks: init becomes the parent of the program, and reaps it when it ends.
StatusWith<pid_t> launch(char* const* argv, const char* errors) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Status(ErrorCode::kInternalError, std::strerror(errno));
  const pid_t between = fork();
  if (between == 0) {
    setsid();
    const pid_t child = fork();
    if (child == 0) become(argv, errors, ends[1]);
    const Report born{child, child < 0 ? errno : 0};
    [[maybe_unused]] const auto told = write(ends[1], &born, sizeof born);
    _exit(0);
  }
  const int forkError = errno;
  close(ends[1]);
  Report all, one;
  while (between > 0 && read(ends[0], &one, sizeof one) == static_cast<ssize_t>(sizeof one)) {
    if (one.pid > 0) all.pid = one.pid;
    if (one.error != 0) all.error = one.error;
  }
  close(ends[0]);
  if (between < 0) return Status(ErrorCode::kInternalError, std::strerror(forkError));
  while (waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (all.error != 0) return Status(ErrorCode::kInternalError, std::strerror(all.error));
  return all.pid;
}

/// With which arguments a process was started. None: it has ended, or has become its program only now: for a moment the
/// system shows none then.
std::vector<std::string> argumentsOf(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/cmdline");
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(in, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

bool wasStartedOn(pid_t pid, const std::string& data) {
  std::vector<std::string> arguments = argumentsOf(pid);
  for (int looks = 0; arguments.empty() && looks < 50 && kill(pid, 0) == 0; ++looks) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    arguments = argumentsOf(pid);
  }
  return std::ranges::find(arguments, data) != arguments.end();
}

}  // namespace

std::optional<pid_t> runningMember(const MemberFiles& files) {
  pid_t pid = 0;
  std::ifstream(files.pid) >> pid;
  if (pid <= 0 || !wasStartedOn(pid, files.data)) return std::nullopt;
  return pid;
}

Status startMember(const std::vector<std::string>& arguments, const MemberFiles& files) {
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const auto pid = launch(argv.data(), files.errors.c_str());
  if (!pid.isOK()) return pid.status().withContext("cannot start " + arguments.front());
  std::ofstream out(files.pid);
  out << *pid << "\n";
  out.close();
  if (out) return Status::OK();
  kill(*pid, SIGTERM);  // nobody would find it again
  return {ErrorCode::kFileNotOpen, "cannot write " + files.pid};
}

StatusWith<bool> endMember(const MemberFiles& files, int signal, std::chrono::milliseconds patience) {
  const auto pid = runningMember(files);
  if (!pid) return false;
  if (kill(*pid, signal) != 0 && errno != ESRCH)
    return Status(ErrorCode::kInternalError,
                  "cannot signal the process " + std::to_string(*pid) + ": " + std::strerror(errno));
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (wasStartedOn(*pid, files.data)) {
    if (std::chrono::steady_clock::now() > deadline)
      return Status(ErrorCode::kExceededTimeLimit, "the process " + std::to_string(*pid) + " has not ended");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  unlink(files.pid.c_str());
  return true;
}

std::string lastError(const MemberFiles& files) {
  std::ifstream in(files.errors);
  std::string last;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) last = line;
  return last;
}

}  // namespace troupe::supervisors
