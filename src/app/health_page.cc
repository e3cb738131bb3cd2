#include "app/health_page.h"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <ranges>
#include <utility>

#include "app/version.h"
#include "grpc/certificate_end.h"

namespace coppice::app {
namespace {

int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0;
  int64_t resident = 0;
  file >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

int64_t UnixSeconds(TimePoint at) {
  return std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
}

}  // namespace

void WriteProcess(report::JsonOut& out) {
  out.Field("version", kVersion).Field("rssBytes", ResidentBytes());
}

void WritePlugins(report::JsonOut& out, const Plugins& plugins) {
  out.Key("plugins").Open('{');
  const auto list = [&](std::string_view kind, const std::vector<std::string>& names) {
    out.Key(kind).Open('[');
    for (const std::string& name : names) out.Text(name);
    out.Close(']');
  };
  list("clouds", plugins.clouds.names());
  list("nodeGroups", plugins.node_groups.names());
  list("nodeClaims", plugins.node_claims.names());
  list("filters", plugins.filters.names());
  list("expanders", plugins.expanders.names());
  list("processors", plugins.processors.names());
  list("batch", plugins.batch.names());
  out.Close('}');
}

std::vector<MetricLine> MetricLines(std::string_view text, std::string_view suffix) {
  std::vector<MetricLine> lines;
  for (const auto part : std::views::split(text, '\n')) {
    const std::string_view line(part.begin(), part.end());
    const size_t name_end = line.find_first_of("{ ");
    if (line.starts_with('#') || name_end == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, name_end);
    if (!name.ends_with(suffix)) continue;
    const size_t space = line.rfind(' ');
    MetricLine metric{.name = std::string(name)};
    if (line[name_end] == '{' && space > name_end + 1)
      metric.labels = line.substr(name_end + 1, space - name_end - 2);
    const std::string_view value = line.substr(space + 1);
    if (std::from_chars(value.data(), value.data() + value.size(), metric.value).ec != std::errc())
      continue;
    lines.push_back(std::move(metric));
  }
  return lines;
}

void WriteErrors(report::JsonOut& out, std::string_view metrics) {
  out.Key("errors").Open('[');
  for (const std::string_view suffix :
       {"_errors_total", "_failures_total", "_failed_scale_ups_total",
        "_failed_node_creations_total", "_stock_outs_total"}) {
    for (const MetricLine& line : MetricLines(metrics, suffix)) {
      // That a machine is gone is what is asked for when one goes.
      if (line.value <= 0 || line.labels.find("NodeClaimNotFoundError") != std::string::npos)
        continue;
      out.Open('{').Field("name", line.name).Field("labels", line.labels);
      out.Field("count", static_cast<int64_t>(line.value)).Close('}');
    }
  }
  out.Close(']');
}

void AddCertificateFile(const std::string& path, const std::string& what,
                        std::vector<CertificateShown>& to) {
  if (path.empty()) return;
  std::ifstream file(path, std::ios::binary);
  const std::string pem((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto end = grpc::CertificateEnd(pem);
  to.push_back({.what = what + " (" + path + ")",
                .end = end.ok() ? *end : TimePoint{},
                .error = end.ok() ? "" : end.status().message()});
}

void AddCertificates(std::string_view metrics, std::vector<CertificateShown>& to) {
  for (const MetricLine& line : MetricLines(metrics, "certificate_not_after_timestamp_seconds"))
    to.push_back({.what = line.labels,
                  .end = TimePoint(std::chrono::seconds(static_cast<int64_t>(line.value)))});
}

void WriteCertificates(report::JsonOut& out, std::string_view key,
                       const std::vector<CertificateShown>& certificates) {
  out.Key(key).Open('[');
  for (const CertificateShown& certificate : certificates) {
    out.Open('{').Field("what", certificate.what);
    if (certificate.error.empty()) {
      out.Field("notAfter", UnixSeconds(certificate.end));
    } else {
      out.Field("error", certificate.error);
    }
    out.Close('}');
  }
  out.Close(']');
}

}  // namespace coppice::app
