// PortForward: `kubectl port-forward` as a child, for as long as this lives.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"

namespace coppice::kube {

class PortForward {
 public:
  // Runs `command` (kubectl and its arguments) and waits until it says on which port of loopback it
  // listens. What it complains about goes to standard error; what it says later (a line for each
  // connection) is read and dropped, for a full pipe would stop it.
  static Result<std::unique_ptr<PortForward>> Start(const std::vector<std::string>& command);
  ~PortForward();  // ends the child
  PortForward(const PortForward&) = delete;
  PortForward& operator=(const PortForward&) = delete;

  uint16_t port() const { return port_; }

 private:
  PortForward(pid_t child, int output) : child_(child), output_(output) {}
  Status WaitForPort();
  void Drain() const;

  const pid_t child_;
  const int output_;
  uint16_t port_ = 0;
  int stop_[2] = {-1, -1};  // a pipe that is closed when the reader is to end
  std::thread reader_;
};

}  // namespace coppice::kube
