#include "kube/port_forward.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace coppice::kube {
namespace {

constexpr int kPatienceMillis = 30'000;

}  // namespace

Result<std::unique_ptr<PortForward>> PortForward::Start(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Unavailable(std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int problem =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (problem != 0) {
    close(ends[0]);
    return Unavailable(command.front() + " cannot be started (" + std::strerror(problem) +
                       "); with --server no kubectl is needed");
  }
  std::unique_ptr<PortForward> forward(new PortForward(child, ends[0]));
  TRY(forward->WaitForPort());
  if (pipe2(forward->stop_, O_CLOEXEC) != 0) return Unavailable(std::strerror(errno));
  forward->reader_ = std::thread([reader = forward.get()] { reader->Drain(); });
  return forward;
}

Status PortForward::WaitForPort() {
  // "Forwarding from 127.0.0.1:40531 -> 8086"
  constexpr std::string_view kSays = "127.0.0.1:";
  std::string said;
  pollfd ready{.fd = output_, .events = POLLIN, .revents = 0};
  while (said.find('\n') == std::string::npos) {
    if (poll(&ready, 1, kPatienceMillis) <= 0)
      return DeadlineExceeded("kubectl port-forward says nothing");
    char buffer[512];
    const ssize_t length = read(output_, buffer, sizeof(buffer));
    if (length <= 0) return Unavailable("kubectl port-forward has ended");
    said.append(buffer, static_cast<size_t>(length));
  }
  const size_t at = said.find(kSays);
  if (at == std::string::npos) return Unavailable("kubectl port-forward says: " + said);
  port_ = static_cast<uint16_t>(std::atoi(said.c_str() + at + kSays.size()));
  return Status::Ok();
}

// Not until the end of the pipe alone: a child of kubectl's might hold it open.
void PortForward::Drain() const {
  pollfd ends[] = {{.fd = output_, .events = POLLIN, .revents = 0},
                   {.fd = stop_[0], .events = POLLIN, .revents = 0}};
  char buffer[4096];
  for (;;) {
    if (poll(ends, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (ends[1].revents != 0) return;
    if (ends[0].revents != 0 && read(output_, buffer, sizeof(buffer)) <= 0) return;
  }
}

PortForward::~PortForward() {
  kill(child_, SIGTERM);
  int status = 0;
  waitpid(child_, &status, 0);
  if (stop_[1] >= 0) close(stop_[1]);
  if (reader_.joinable()) reader_.join();
  if (stop_[0] >= 0) close(stop_[0]);
  close(output_);
}

}  // namespace coppice::kube
