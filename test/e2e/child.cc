#include "test/e2e/child.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>

namespace coppice::test {

Child::Child(std::vector<std::string> command, std::map<std::string, std::string> environment) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe");
  std::vector<char*> arguments;
  for (std::string& part : command) arguments.push_back(part.data());
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  out_ = ends[0];
  reader_ = std::thread([this] {
    char buffer[4096];
    for (ssize_t n = 0; (n = read(out_, buffer, sizeof buffer)) > 0;) {
      const std::lock_guard lock(mutex_);
      text_.append(buffer, static_cast<size_t>(n));
    }
    const std::lock_guard lock(mutex_);
    closed_ = true;
  });
}

Child::~Child() {
  if (!code_) {
    Signal(SIGKILL);
    Wait();
  }
  reader_.join();
  close(out_);
}

std::optional<std::string> Child::WaitForLine(const std::string& text) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < give_up) {
    {
      const std::lock_guard lock(mutex_);
      const size_t at = text_.find(text);
      const size_t end = at == std::string::npos ? at : text_.find('\n', at);
      if (end != std::string::npos) {
        const size_t begin = text_.rfind('\n', at);
        const size_t start = begin == std::string::npos ? 0 : begin + 1;
        return text_.substr(start, end - start);
      }
      if (closed_) return std::nullopt;
    }
    // Another process: there is nothing to be notified by.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return std::nullopt;
}

std::string Child::output() {
  const std::lock_guard lock(mutex_);
  return text_;
}

void Child::Signal(int number) const { kill(pid_, number); }

int Child::Wait() {
  if (code_) return *code_;
  int status = 0;
  rusage used{};
  wait4(pid_, &status, 0, &used);
  peak_mb_ = static_cast<double>(used.ru_maxrss) / 1000;
  // What it wrote last is still on its way to us; a grandchild may keep the pipe open for ever.
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  const auto read_all = [this] {
    const std::lock_guard lock(mutex_);
    return closed_;
  };
  while (!read_all() && std::chrono::steady_clock::now() < give_up)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return *code_;
}

}  // namespace coppice::test
