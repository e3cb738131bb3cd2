// Running an exec credential plug-in: a child with its own standard output, killed when it takes
// too long.

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "kube/credentials.h"

extern char** environ;

namespace coppice::kube {
namespace {

constexpr std::chrono::seconds kLongest(60);
constexpr size_t kMaxOutput = 1 << 20;

std::string ExecInfo(const ExecPlugin& plugin, const ConnectionConfig& config) {
  nlohmann::json spec = {{"interactive", false}};
  if (plugin.provide_cluster_info) {
    spec["cluster"] = {{"server", config.server}};
    if (!config.tls_server_name.empty())
      spec["cluster"]["tls-server-name"] = config.tls_server_name;
    if (config.proxy_url) spec["cluster"]["proxy-url"] = *config.proxy_url;
  }
  return nlohmann::json(
             {{"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"spec", spec}})
      .dump();
}

class Pipe {
 public:
  Pipe() { ok_ = pipe2(fds_, O_CLOEXEC) == 0; }
  ~Pipe() {
    CloseWriter();
    if (ok_) close(fds_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  bool ok() const { return ok_; }
  int reader() const { return fds_[0]; }
  int writer() const { return fds_[1]; }
  void CloseWriter() {
    if (ok_ && !writer_closed_) close(fds_[1]);
    writer_closed_ = true;
  }

 private:
  int fds_[2] = {-1, -1};
  bool ok_ = false;
  bool writer_closed_ = false;
};

// All that comes until the other side closes. False: too much, or too late.
bool ReadAll(int fd, std::string& out) {
  const auto give_up = std::chrono::steady_clock::now() + kLongest;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                          give_up - std::chrono::steady_clock::now())
                          .count();
    pollfd waited{fd, POLLIN, 0};
    if (left <= 0 || poll(&waited, 1, static_cast<int>(left)) == 0) return false;
    char buffer[4096];
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count == 0;
    out.append(buffer, static_cast<size_t>(count));
    if (out.size() > kMaxOutput) return false;
  }
}

}  // namespace

Result<std::string> RunExecPlugin(const ExecPlugin& plugin, const ConnectionConfig& config) {
  Pipe pipe;
  if (!pipe.ok()) return Unavailable("exec plug-in: no pipe");
  std::vector<std::string> words = {plugin.command};
  words.insert(words.end(), plugin.args.begin(), plugin.args.end());
  std::vector<std::string> settings;
  for (char** entry = environ; *entry != nullptr; ++entry) settings.emplace_back(*entry);
  for (const auto& [name, value] : plugin.env) settings.push_back(name + "=" + value);
  settings.push_back("KUBERNETES_EXEC_INFO=" + ExecInfo(plugin, config));
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (std::string& setting : settings) envp.push_back(setting.data());
  envp.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe.writer(), STDOUT_FILENO);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, plugin.command.c_str(), &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    return FailedPrecondition(fmt::format("exec plug-in {}: {}{}{}", plugin.command,
                                          strerror(failed), plugin.install_hint.empty() ? "" : "; ",
                                          plugin.install_hint));
  }
  pipe.CloseWriter();
  std::string printed;
  const bool complete = ReadAll(pipe.reader(), printed);
  if (!complete) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!complete)
    return DeadlineExceeded("exec plug-in " + plugin.command + ": too slow, or too much output");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return Unavailable("exec plug-in " + plugin.command + " failed");
  return printed;
}

}  // namespace coppice::kube
