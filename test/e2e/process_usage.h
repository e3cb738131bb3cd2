// What a process has used so far, from /proc.

#pragma once

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace coppice::test {

struct Usage {
  double cpu_seconds = 0;
  double rss_mb = 0;
  double peak_mb = 0;
};

inline Usage UsageOf(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/";
  std::ifstream stat(folder + "stat");
  const std::string text((std::istreambuf_iterator<char>(stat)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string field;
  Usage usage;
  for (int i = 3; fields >> field; ++i) {
    if (i == 14 || i == 15)
      usage.cpu_seconds += std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  std::ifstream status(folder + "status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) usage.rss_mb = std::atof(line.c_str() + 6) / 1000;
    if (line.starts_with("VmHWM:")) usage.peak_mb = std::atof(line.c_str() + 6) / 1000;
  }
  return usage;
}

}  // namespace coppice::test
