// What Prometheus' libraries say about their process, under the same names: processor time, memory,
// open files, start.

#pragma once

#include <string>

namespace coppice::host {

// Lines for /metrics. What the system does not tell is left out.
std::string ProcessMetrics();

}  // namespace coppice::host
