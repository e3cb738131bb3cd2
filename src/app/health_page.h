// What the health page says of every process: memory, plug-ins, errors that were counted,
// certificates and when they end. Fields of an object that the caller has open.
//
// Any thread.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/main.h"
#include "base/clock.h"
#include "report/json_out.h"

namespace coppice::app {

void WriteProcess(report::JsonOut& out);
// What is linked in, by kind.
void WritePlugins(report::JsonOut& out, const Plugins& plugins);

// One series of Prometheus' text.
struct MetricLine {
  std::string name;
  std::string labels;  // as they stand between the braces
  double value = 0;
};
// Those whose name ends so.
std::vector<MetricLine> MetricLines(std::string_view text, std::string_view suffix);

// Counters of what went wrong, of whichever engine, that are not zero.
void WriteErrors(report::JsonOut& out, std::string_view metrics);

struct CertificateShown {
  std::string what;
  TimePoint end;
  std::string error;  // why that is not known
};
// Nothing for "".
void AddCertificateFile(const std::string& path, const std::string& what,
                        std::vector<CertificateShown>& to);
// Those of gRPC's ends, which tell of them in metrics.
void AddCertificates(std::string_view metrics, std::vector<CertificateShown>& to);
void WriteCertificates(report::JsonOut& out, std::string_view key,
                       const std::vector<CertificateShown>& certificates);

}  // namespace coppice::app
