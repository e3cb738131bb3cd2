#include "host/process_metrics.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace coppice::host {
namespace {

void Put(std::string& page, const char* name, const char* type, const char* help, double value) {
  page += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, type, value);
}

double BootTime() {
  std::ifstream stat("/proc/stat");
  for (std::string line; std::getline(stat, line);) {
    if (line.starts_with("btime ")) return std::stod(line.substr(6));
  }
  return 0;
}

}  // namespace

std::string ProcessMetrics() {
  std::string page;
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  // Behind the program's name, which may contain anything; the first field there is the third.
  const size_t name_ends = text.rfind(')');
  if (name_ends != std::string::npos) {
    std::istringstream fields(text.substr(name_ends + 1));
    std::string skipped;
    const auto skip = [&](int n) {
      for (int i = 0; i < n; ++i) fields >> skipped;
    };
    double user = 0, system = 0, start = 0, virtual_bytes = 0, pages = 0;
    skip(11);
    fields >> user >> system;
    skip(6);
    fields >> start >> virtual_bytes >> pages;
    if (fields) {
      const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
      Put(page, "process_cpu_seconds_total", "counter", "Processor time", (user + system) / ticks);
      Put(page, "process_resident_memory_bytes", "gauge", "Resident memory",
          pages * static_cast<double>(sysconf(_SC_PAGESIZE)));
      Put(page, "process_virtual_memory_bytes", "gauge", "Virtual memory", virtual_bytes);
      Put(page, "process_start_time_seconds", "gauge", "Start of the process, Unix time",
          BootTime() + start / ticks);
    }
  }
  std::error_code problem;
  const std::filesystem::directory_iterator files("/proc/self/fd", problem);
  if (!problem)
    Put(page, "process_open_fds", "gauge", "Open files",
        static_cast<double>(std::distance(begin(files), end(files))));
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
    Put(page, "process_max_fds", "gauge", "Most open files", static_cast<double>(limit.rlim_cur));
  return page;
}

}  // namespace coppice::host
