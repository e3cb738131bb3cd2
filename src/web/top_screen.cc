#include "web/top_screen.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace coppice::web {
namespace {

using StateJson = nlohmann::json;

constexpr size_t kWaitingShown = 8;
constexpr size_t kDecisionsShown = 8;
constexpr size_t kGangsShown = 5;  // of a queue
constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

const StateJson& PartOf(const StateJson& json, const char* key) {
  static const StateJson kNone = StateJson::object();
  const auto found = json.find(key);
  return found != json.end() && found->is_object() ? *found : kNone;
}

const StateJson& ListIn(const StateJson& json, const char* key) {
  static const StateJson kNone = StateJson::array();
  if (!json.is_object()) return kNone;
  const auto found = json.find(key);
  return found != json.end() && found->is_array() ? *found : kNone;
}

double NumberIn(const StateJson& json, const char* key) {
  if (!json.is_object()) return 0;
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

// Of ASCII alone, so that columns stay in line; whatever else there is becomes a question mark, but
// for the arrow that decisions are written with.
std::string Plain(std::string_view text) {
  constexpr std::string_view kArrow = "→";
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (text.substr(i).starts_with(kArrow)) {
      out += "->";
      i += kArrow.size() - 1;
    } else if (c >= ' ' && c <= '~') {
      out += c;
    } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {  // once per character
      out += '?';
    }
  }
  return out;
}

std::string TextIn(const StateJson& json, const char* key) {
  if (!json.is_object()) return "";
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? Plain(found->get_ref<const std::string&>())
                                                   : std::string();
}

std::string ClockTime(double at) {
  if (at <= 0 || at > 8e9) return "?";
  const auto seconds = static_cast<std::time_t>(at);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", parts);
}

std::string Age(double seconds) {
  if (!(seconds >= 0) || seconds > 8e9) return "?";
  if (seconds < 120) return fmt::format("{:.0f}s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f}m", seconds / 60);
  return fmt::format("{:.1f}h", seconds / 3600);
}

class Screen {
 public:
  explicit Screen(const TopLook& look) : look_(look) {}

  // `marked` stands behind the text and counts `marks` columns: bars and colours.
  void Line(std::string text, const std::string& marked = "") {
    if (look_.height > 0 && lines_ + 1 > look_.height) return;
    ++lines_;
    if (text.size() > look_.width) text.resize(look_.width);
    text_ += text + marked + "\n";
  }
  void Heading(std::string text) {
    if (text.size() > look_.width) text.resize(look_.width);
    Line("", look_.colour ? "\x1b[1m" + text + "\x1b[0m" : text);
  }
  size_t Left(size_t used) const { return look_.width > used ? look_.width - used : 0; }
  const TopLook& look() const { return look_; }
  std::string Take() && { return std::move(text_); }

 private:
  const TopLook look_;
  size_t lines_ = 0;
  std::string text_;
};

// One column for a node: a bar as high as its fuller of cpu and memory, or a letter for its state.
std::string Tile(const StateJson& node, bool colour) {
  const std::string state = TextIn(node, "state");
  const auto painted = [colour](const char* code, const std::string& tile) {
    return colour ? std::string("\x1b[") + code + "m" + tile + "\x1b[0m" : tile;
  };
  if (state == "booting" || state == "starting") return painted("36", "b");
  if (state == "imagined") return painted("36", "o");
  if (state == "draining") return painted("33", "d");
  if (state == "unneeded") return painted("33", "u");
  if (state == "cordoned") return painted("33", "c");
  if (state == "unready" || state == "failed") return painted("31", "x");
  const double full = std::clamp(std::max(NumberIn(node, "cpu"), NumberIn(node, "memory")), 0.0,
                                 999.0);  // thousandths
  return painted("32", kBars[static_cast<size_t>(full * 8 / 1000)]);
}

void AddTotal(const StateJson& state, const std::string& server, Screen& screen) {
  const StateJson& total = PartOf(state, "total");
  const double at = NumberIn(state, "at");
  screen.Heading(fmt::format("coppice at {}   {}   last pass {} ago", Plain(server), ClockTime(at),
                             Age(at - NumberIn(total, "lastPass"))));
  screen.Line(fmt::format(
      "{:.0f} nodes: {:.0f} ready, {:.0f} coming, {:.0f} unneeded, {:.0f} leaving   {:.0f} pods, "
      "{:.0f} wait   cpu {:.0f}%  memory {:.0f}%   {:.2f} an hour",
      NumberIn(total, "nodes"), NumberIn(total, "ready"), NumberIn(total, "coming"),
      NumberIn(total, "unneeded"), NumberIn(total, "leaving"), NumberIn(total, "running"),
      NumberIn(total, "pending"), NumberIn(total, "cpu") / 10, NumberIn(total, "memory") / 10,
      NumberIn(total, "cost")));
}

void AddRows(const StateJson& state, Screen& screen) {
  std::map<std::string, std::vector<const StateJson*>> nodes;  // by row
  for (const auto& [name, node] : PartOf(state, "nodes").items()) {
    if (node.is_object()) nodes[TextIn(node, "row")].push_back(&node);
  }
  screen.Line("");
  screen.Heading(fmt::format("{:<24} {:<16} {:>9} {:>10} {:>9}  nodes", "group or pool", "type",
                             "ready", "min..max", "an hour"));
  for (const auto& [name, row] : PartOf(state, "rows").items()) {
    if (!row.is_object()) continue;
    const bool pool = TextIn(row, "kind") == "pool";
    const std::string limits =
        pool ? "-" : fmt::format("{:.0f}..{:.0f}", NumberIn(row, "min"), NumberIn(row, "max"));
    const std::string line =
        fmt::format("{:<24.24} {:<16.16} {:>9} {:>10} {:>9.2f}  ", Plain(name), TextIn(row, "type"),
                    fmt::format("{:.0f}/{:.0f}", NumberIn(row, "ready"), NumberIn(row, "target")),
                    limits, NumberIn(row, "cost"));
    const auto& own = nodes[Plain(name)];
    const size_t room = screen.Left(line.size());
    std::string tiles;
    for (size_t i = 0; i < std::min(own.size(), room); ++i)
      tiles += Tile(*own[i], screen.look().colour);
    screen.Line(line, tiles);
    for (const char* why : {"backoffText", "trouble"}) {
      if (const std::string text = TextIn(row, why); !text.empty()) screen.Line("  ! " + text);
    }
  }
}

// "12000m cpu" would be read by nobody: cores, and memory in the largest unit that fits.
std::string AmountOf(const std::string& resource, double amount) {
  if (resource == "cpu") return fmt::format("{:.4g}", amount / 1000);
  if (resource != "memory" && !resource.ends_with("storage")) return fmt::format("{:.6g}", amount);
  size_t unit = 0;
  constexpr const char* kUnits[] = {"", "Ki", "Mi", "Gi", "Ti"};
  for (; amount >= 1024 && unit < 4; ++unit) amount /= 1024;
  return fmt::format("{:.4g}{}", amount, kUnits[unit]);
}

std::string HeldBy(const StateJson& queue) {
  std::string text;
  for (const StateJson& amount : ListIn(queue, "amounts")) {
    const std::string resource = TextIn(amount, "resource");
    const double held = NumberIn(amount, "held");
    if (held <= 0) continue;
    text += (text.empty() ? "" : ", ") + AmountOf(resource, held);
    if (amount.contains("deserved"))
      text += " of " + AmountOf(resource, NumberIn(amount, "deserved"));
    text += " " + resource;
  }
  return text;
}

// Queues, and under each the gangs that wait in it.
void AddQueues(const StateJson& state, Screen& screen) {
  const StateJson& queues = PartOf(state, "queues");
  if (queues.empty()) return;
  screen.Line("");
  screen.Heading(
      fmt::format("{:<24} {:>6} {:>6} {:>6}  holds", "queue", "weight", "share", "wait"));
  for (const auto& [name, queue] : queues.items()) {
    if (!queue.is_object()) continue;
    const std::string share =
        queue.contains("share") ? fmt::format("{:.0f}%", NumberIn(queue, "share") * 100) : "-";
    screen.Line(fmt::format("{:<24.24} {:>6.0f} {:>6} {:>6.0f}  {}", Plain(name),
                            NumberIn(queue, "weight"), share, NumberIn(queue, "waiting"),
                            HeldBy(queue)));
    size_t shown = 0;
    for (const StateJson& gang : ListIn(queue, "gangs")) {
      if (!gang.is_object() || ++shown > kGangsShown) continue;
      std::string line = fmt::format("  gang {:<30} needs {:.0f}, {:.0f} placed, {:.0f} wait",
                                     TextIn(gang, "gang"), NumberIn(gang, "needs"),
                                     NumberIn(gang, "placed"), NumberIn(gang, "waits"));
      if (const std::string how = TextIn(gang, "state"); !how.empty()) line += ", " + how;
      if (NumberIn(gang, "coming") > 0)
        line += fmt::format(", {:.0f} machines coming", NumberIn(gang, "coming"));
      if (NumberIn(gang, "price") > 0)
        line += fmt::format(", {:.2f} an hour", NumberIn(gang, "price"));
      screen.Line(line);
    }
    if (shown > kGangsShown) screen.Line(fmt::format("  and {} gangs more", shown - kGangsShown));
  }
}

void AddWaiting(const StateJson& state, Screen& screen) {
  std::vector<const StateJson*> waiting;
  for (const auto& [name, shape] : PartOf(state, "pending").items()) {
    if (shape.is_object()) waiting.push_back(&shape);
  }
  std::ranges::stable_sort(waiting, [](const StateJson* a, const StateJson* b) {
    return NumberIn(*a, "count") > NumberIn(*b, "count");
  });
  screen.Line("");
  screen.Heading(
      fmt::format("{:>6} {:<32} {:>8} {:>9} {:>7}  why", "wait", "of", "cpu", "memory", "oldest"));
  if (waiting.empty()) screen.Line("     0 nobody waits");
  for (size_t i = 0; i < std::min(waiting.size(), kWaitingShown); ++i) {
    const StateJson& shape = *waiting[i];
    screen.Line(
        fmt::format("{:>6.0f} {:<32.32} {:>7.0f}m {:>6.0f}Mi {:>7}  {}", NumberIn(shape, "count"),
                    TextIn(shape, "namespace") + "/" + TextIn(shape, "owner"),
                    NumberIn(shape, "cpuMillis"), NumberIn(shape, "memoryBytes") / (1 << 20),
                    Age(NumberIn(state, "at") - NumberIn(shape, "oldest")), TextIn(shape, "text")));
  }
  if (waiting.size() > kWaitingShown)
    screen.Line(fmt::format("       and {} kinds more", waiting.size() - kWaitingShown));
}

void AddDecisions(std::string_view text, Screen& screen) {
  const StateJson json = StateJson::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object()) return;
  const auto list = json.find("decisions");
  if (list == json.end() || !list->is_array()) return;
  screen.Line("");
  screen.Heading("last decisions");
  size_t shown = 0;
  for (const StateJson& decision : *list) {
    if (!decision.is_object() || ++shown > kDecisionsShown) continue;
    const std::string kind = TextIn(decision, "kind");
    const char mark = kind == "up" ? '+' : kind == "down" ? '-' : kind == "trouble" ? '!' : '.';
    screen.Line(fmt::format("{} {} {:<32} {}", ClockTime(NumberIn(decision, "at")), mark,
                            TextIn(decision, "title"), TextIn(decision, "why")));
  }
}

}  // namespace

Result<std::string> TopScreen(std::string_view state, std::string_view decisions,
                              const std::string& server, const TopLook& look) {
  const StateJson json = StateJson::parse(state.begin(), state.end(), nullptr, false);
  if (json.is_object() && json.contains("seq") && !json.contains("total"))
    return Unavailable("nothing has been seen there yet");
  if (!json.is_object() || !json.contains("total"))
    return InvalidArgument("the server's answer is not what was asked for: is it coppice?");
  Screen screen(look);
  AddTotal(json, server, screen);
  AddRows(json, screen);
  AddQueues(json, screen);
  AddWaiting(json, screen);
  AddDecisions(decisions, screen);
  screen.Line("");
  screen.Line(
      "bars: how full a node is; b boots, o ordered, u unneeded, d drains, c cordoned, x ill");
  return std::move(screen).Take();
}

}  // namespace coppice::web
