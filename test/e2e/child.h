// A child process of a test: started, its standard error read line by line, ended by a signal.

#pragma once

#include <sys/types.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace coppice::test {

class Child {
 public:
  // `environment` is added to ours.
  explicit Child(std::vector<std::string> command,
                 std::map<std::string, std::string> environment = {});
  ~Child();  // SIGKILL, if it still runs
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The first line of its output (both streams) that contains `text`, waited for; nullopt if it
  // ends first.
  std::optional<std::string> WaitForLine(const std::string& text);
  // All that it has written.
  std::string output();
  void Signal(int number) const;
  pid_t pid() const { return pid_; }
  // Exit code, or 128 + the signal that ended it. Waits, also for what it wrote.
  int Wait();
  double peak_mb() const { return peak_mb_; }  // of memory; after Wait()

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  std::optional<int> code_;
  double peak_mb_ = 0;
  std::thread reader_;
  std::mutex mutex_;
  std::string text_;
  bool closed_ = false;
};

}  // namespace coppice::test
