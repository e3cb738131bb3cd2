#include "rehearse/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace coppice::rehearse {
namespace {

constexpr size_t kDecisionsShown = 8;
constexpr const char* kColours[] = {"#1f6fb2",
                                    "#c2410c"};  // told apart without seeing red and green

std::string Time(Duration time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 7200) return fmt::format("{:.1f} min", static_cast<double>(seconds) / 60);
  return fmt::format("{:.1f} h", static_cast<double>(seconds) / 3600);
}

// Since the beginning: "05:30:10", and a day number from the second day on.
std::string Since(TimePoint start, TimePoint at) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at - start).count();
  const auto days = seconds / 86400;
  return fmt::format("{}{:02}:{:02}:{:02}", days > 0 ? fmt::format("{}d ", days) : "",
                     seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
}

struct Row {
  const char* label;
  std::function<std::string(const Outcome&)> value;
};
const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
      {"cost", [](const Outcome& o) { return fmt::format("{:.2f}", o.cost); }},
      {"machine hours", [](const Outcome& o) { return fmt::format("{:.1f}", o.machine_hours); }},
      {"most machines at once",
       [](const Outcome& o) { return fmt::format("{}", o.peak_machines); }},
      {"machines bought", [](const Outcome& o) { return fmt::format("{}", o.bought); }},
      {"machines removed", [](const Outcome& o) { return fmt::format("{}", o.removed); }},
      {"pods that had to move", [](const Outcome& o) { return fmt::format("{}", o.evictions); }},
      {"pods started", [](const Outcome& o) { return fmt::format("{}", o.started); }},
      {"half waited less than", [](const Outcome& o) { return Time(o.median_wait); }},
      {"99 of 100 waited less than", [](const Outcome& o) { return Time(o.long_wait); }},
      {"longest wait", [](const Outcome& o) { return Time(o.longest_wait()); }},
      {"still waiting at the end", [](const Outcome& o) { return fmt::format("{}", o.waiting); }},
      {"passes", [](const Outcome& o) { return fmt::format("{}", o.passes); }},
  };
  return rows;
}

// Of gangs, where any was played.
const std::vector<Row>& GangRows() {
  static const std::vector<Row> rows = {
      {"gangs started", [](const Outcome& o) { return fmt::format("{}", o.gangs_started); }},
      {"gangs that did not",
       [](const Outcome& o) { return fmt::format("{}", o.gangs - o.gangs_started); }},
      {"half of them waited less", [](const Outcome& o) { return Time(o.median_gang_wait); }},
  };
  return rows;
}

std::vector<Row> RowsFor(const std::vector<Outcome>& outcomes) {
  std::vector<Row> rows = Rows();
  if (std::ranges::any_of(outcomes, [](const Outcome& o) { return o.gangs > 0; }))
    rows.insert(rows.end(), GangRows().begin(), GangRows().end());
  return rows;
}

std::string Html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

// One chart: a line per rehearsal over the same time.
std::string Chart(const std::vector<Outcome>& outcomes, const char* title,
                  const std::function<double(const Sample&)>& value) {
  constexpr double kWidth = 860;
  constexpr double kHeight = 180;
  constexpr double kLeft = 60;
  constexpr double kTop = 10;
  double most = 0;
  for (const Outcome& outcome : outcomes) {
    for (const Sample& sample : outcome.samples) most = std::max(most, value(sample));
  }
  if (most <= 0) most = 1;
  const TimePoint start = outcomes[0].start;
  const double length =
      std::max(1.0, std::chrono::duration<double>(outcomes[0].end - start).count());
  std::string out =
      fmt::format("<h2>{}</h2>\n<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
                  title, kLeft + kWidth + 10, kTop + kHeight + 25, title);
  for (int i = 0; i <= 4; ++i) {
    const double y = kTop + kHeight - kHeight * i / 4;
    out += fmt::format(
        "<line x1=\"{}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\" class=\"g\"/><text x=\"{}\" "
        "y=\"{:.1f}\" text-anchor=\"end\">{:.4g}</text>\n",
        kLeft, y, kLeft + kWidth, y, kLeft - 6, y + 4, most * i / 4);
  }
  for (int i = 0; i <= 6; ++i) {
    const auto at =
        start + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(length * i / 6));
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                       kLeft + kWidth * i / 6, kTop + kHeight + 18, Since(start, at).substr(0, 5));
  }
  for (size_t i = 0; i < outcomes.size(); ++i) {
    std::string points;
    double last = -1;
    for (const Sample& sample : outcomes[i].samples) {
      const double x =
          kLeft + kWidth * std::chrono::duration<double>(sample.at - start).count() / length;
      const double y = kTop + kHeight - kHeight * value(sample) / most;
      if (last >= 0) points += fmt::format("{:.1f},{:.1f} ", x, last);  // a step, not a slope
      points += fmt::format("{:.1f},{:.1f} ", x, y);
      last = y;
    }
    out += fmt::format("<polyline points=\"{}\" stroke=\"{}\"{}/>\n", points, kColours[i % 2],
                       i % 2 == 1 ? " stroke-dasharray=\"6 3\"" : "");
  }
  return out + "</svg>\n";
}

std::string WaitLines(const std::vector<Outcome>& outcomes) {
  std::string out;
  for (const Outcome& outcome : outcomes) {
    out += fmt::format("  {}:\n", outcome.name);
    for (const Wait& wait : outcome.longest_waits)
      out += fmt::format("    {:<9} {}\n", Time(wait.time), wait.pod);
    if (outcome.longest_waits.empty()) out += "    nobody waited\n";
    for (const Wait& wait : outcome.longest_gangs)
      out += fmt::format("    {:<9} the gang {}\n", Time(wait.time), wait.pod);
  }
  return out;
}

std::string DecisionLines(const Outcome& outcome, const std::vector<Decision>& decisions) {
  std::string out;
  for (const Decision& decision : decisions) {
    out += fmt::format("    {}  {:<24} {}\n", Since(outcome.start, decision.at), decision.what,
                       decision.why);
  }
  return out.empty() ? "    nothing more\n" : out;
}

}  // namespace

Parting WhereTheyPart(const Outcome& left, const Outcome& right, size_t count) {
  Parting parting;
  const auto& a = left.decisions;
  const auto& b = right.decisions;
  while (parting.same < a.size() && parting.same < b.size() && a[parting.same] == b[parting.same]) {
    ++parting.same;
  }
  for (size_t i = parting.same; i < a.size() && i < parting.same + count; ++i) {
    parting.left.push_back(a[i]);
  }
  for (size_t i = parting.same; i < b.size() && i < parting.same + count; ++i) {
    parting.right.push_back(b[i]);
  }
  return parting;
}

std::string AsText(const std::vector<Outcome>& outcomes) {
  std::string out = fmt::format("{:<28}", "");
  for (const Outcome& outcome : outcomes) out += fmt::format(" {:>22}", outcome.name);
  out += '\n';
  for (const Row& row : RowsFor(outcomes)) {
    out += fmt::format("{:<28}", row.label);
    for (const Outcome& outcome : outcomes) out += fmt::format(" {:>22}", row.value(outcome));
    out += '\n';
  }
  out += "\nThe longest waits:\n" + WaitLines(outcomes);
  if (outcomes.size() != 2) return out;
  const Parting parting = WhereTheyPart(outcomes[0], outcomes[1], kDecisionsShown);
  if (parting.left.empty() && parting.right.empty()) {
    return out + fmt::format("\nAll {} decisions are the same.\n", parting.same);
  }
  return out +
         fmt::format("\n{} decisions are the same; the first that differ:\n  {}:\n{}  {}:\n{}",
                     parting.same, outcomes[0].name, DecisionLines(outcomes[0], parting.left),
                     outcomes[1].name, DecisionLines(outcomes[1], parting.right));
}

std::string AsHtml(const std::vector<Outcome>& outcomes, const std::string& log) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Rehearsal</title>\n"
      "<style>\n"
      ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;"
      "margin:2rem auto;padding:0 1rem}\n"
      "svg{width:100%;height:auto}svg text{font-size:11px;fill:currentColor}"
      ".g{stroke:currentColor;opacity:.15}polyline{fill:none;stroke-width:2}\n"
      "table{border-collapse:collapse}td,th{padding:.2rem .8rem;text-align:right}"
      "td:first-child,th:first-child{text-align:left}pre{overflow:auto}\n"
      "</style>\n";
  out += fmt::format("<h1>Rehearsal of {}</h1>\n<table><tr><th></th>", Html(log));
  for (size_t i = 0; i < outcomes.size(); ++i) {
    out += fmt::format("<th style=\"color:{}\">{}</th>", kColours[i % 2], Html(outcomes[i].name));
  }
  out += "</tr>\n";
  for (const Row& row : RowsFor(outcomes)) {
    out += fmt::format("<tr><td>{}</td>", row.label);
    for (const Outcome& outcome : outcomes) {
      out += fmt::format("<td>{}</td>", Html(row.value(outcome)));
    }
    out += "</tr>\n";
  }
  out += "</table>\n";
  out += fmt::format("<h2>The longest waits</h2>\n<pre>{}</pre>\n", Html(WaitLines(outcomes)));
  out += Chart(outcomes, "Machines", [](const Sample& s) { return s.machines; });
  out += Chart(outcomes, "Pods that wait", [](const Sample& s) { return s.pending; });
  out += Chart(outcomes, "Pods that are wanted", [](const Sample& s) { return s.pods; });
  out += Chart(outcomes, "Cost per hour", [](const Sample& s) { return s.rate; });
  if (outcomes.size() == 2) {
    const Parting parting = WhereTheyPart(outcomes[0], outcomes[1], kDecisionsShown);
    out += fmt::format("<h2>The first decisions that differ</h2>\n<p>{} are the same.</p>\n",
                       parting.same);
    out += fmt::format("<pre>{}\n{}\n{}\n{}</pre>\n", Html(outcomes[0].name),
                       Html(DecisionLines(outcomes[0], parting.left)), Html(outcomes[1].name),
                       Html(DecisionLines(outcomes[1], parting.right)));
  }
  return out;
}

}  // namespace coppice::rehearse
