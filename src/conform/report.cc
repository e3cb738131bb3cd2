#include "conform/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"

namespace coppice::conform {
namespace {

std::string_view Word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return "passed";
    case Verdict::kFailed:
      return "FAILED";
    case Verdict::kNotApplicable:
      return "n/a";
  }
  return "";
}

// What XML 1.0 can hold: a server's error text may be anything.
std::string XmlText(std::string_view text) {
  std::string out;
  for (const char c : ValidUtf8(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default: {
        const auto byte = static_cast<unsigned char>(c);
        const bool control = byte < 0x20 && c != '\t' && c != '\n' && c != '\r';
        out += control ? ' ' : c;
      }
    }
  }
  return out;
}

// The reason as one line: a server's text may have several, or colour a terminal.
std::string OneLine(std::string_view text) {
  std::string out = ValidUtf8(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return out;
}

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

size_t Report::Count(Verdict verdict) const {
  return static_cast<size_t>(std::ranges::count_if(
      rules, [&](const RuleResult& rule) { return rule.outcome.verdict == verdict; }));
}

int Report::ExitCode() const {
  return Count(Verdict::kFailed) == 0 && Count(Verdict::kPassed) > 0 ? 0 : 1;
}

std::string ToText(const RuleResult& result) {
  std::string out = fmt::format("{:<7} {}", Word(result.outcome.verdict), result.name);
  if (!result.outcome.reason.empty()) out += ": " + OneLine(result.outcome.reason);
  out += '\n';
  if (result.outcome.verdict == Verdict::kFailed) {
    out += fmt::format("        {}\n        {}\n", result.says, result.section);
  }
  return out;
}

std::string Summary(const Report& report) {
  return fmt::format("{} at {}: {} passed, {} failed, {} not applicable\n", report.contract,
                     report.target, report.Count(Verdict::kPassed), report.Count(Verdict::kFailed),
                     report.Count(Verdict::kNotApplicable));
}

std::string ToText(const Report& report) {
  std::string out;
  for (const RuleResult& rule : report.rules) out += ToText(rule);
  return out + Summary(report);
}

std::string ToJUnit(const Report& report) {
  Duration total = Duration::zero();
  for (const RuleResult& rule : report.rules) total += rule.took;
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += fmt::format(
      "<testsuites>\n<testsuite name=\"coppice conform {}\" hostname=\"{}\" tests=\"{}\" "
      "failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.3f}\">\n",
      XmlText(report.contract), XmlText(report.target), report.rules.size(),
      report.Count(Verdict::kFailed), report.Count(Verdict::kNotApplicable), Seconds(total));
  for (const RuleResult& rule : report.rules) {
    out += fmt::format("<testcase classname=\"conform.{}\" name=\"{}\" time=\"{:.3f}\">",
                       XmlText(report.contract), XmlText(rule.name), Seconds(rule.took));
    const std::string reason = XmlText(rule.outcome.reason);
    if (rule.outcome.verdict == Verdict::kFailed) {
      out += fmt::format("<failure message=\"{}\">{}\n{}</failure>", reason, XmlText(rule.says),
                         XmlText(rule.section));
    } else if (rule.outcome.verdict == Verdict::kNotApplicable) {
      out += fmt::format("<skipped message=\"{}\"/>", reason);
    } else if (!reason.empty()) {
      out += fmt::format("<system-out>{}</system-out>", reason);
    }
    out += "</testcase>\n";
  }
  return out + "</testsuite>\n</testsuites>\n";
}

}  // namespace coppice::conform
