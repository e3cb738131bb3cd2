#include "web/terminal.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

namespace coppice::web {
namespace {

using AnswerJson = nlohmann::json;

// Pods, clouds and extenders have put words into it; none of them may steer the terminal. What is
// printed stays: UTF-8 without control characters and marks that turn the direction of a line.
std::string Harmless(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto at = [&](size_t j) {
      return j < text.size() ? static_cast<unsigned char>(text[j]) : 0u;
    };
    const unsigned c = at(i);
    const bool c1 = c == 0xC2 && at(i + 1) < 0xA0;  // U+0080 to U+009F
    // U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069
    const unsigned last = at(i + 2);
    const bool turns =
        c == 0xE2 &&
        ((at(i + 1) == 0x80 && (last == 0x8E || last == 0x8F || (last >= 0xA8 && last <= 0xAE))) ||
         (at(i + 1) == 0x81 && last >= 0xA6 && last <= 0xA9));
    if (c < ' ' || c == 0x7F || c1 || turns) {
      out += '?';
      i += c1 ? 1 : turns ? 2 : 0;
    } else {
      out += text[i];
    }
  }
  return out;
}

void MakeHarmless(AnswerJson& json) {
  if (json.is_string()) json = Harmless(json.get_ref<const std::string&>());
  if (json.is_structured())
    for (AnswerJson& inner : json) MakeHarmless(inner);
}

Result<AnswerJson> ParseAnswer(std::string_view text) {
  AnswerJson json = AnswerJson::parse(text.begin(), text.end(), nullptr, false);
  if (json.is_discarded() || !json.is_object())
    return InvalidArgument("the server's answer is not what was asked for: is it coppice?");
  MakeHarmless(json);
  return json;
}

// Fields of an answer, whatever is in it: somebody else's server must not end us.
std::string TextOf(const AnswerJson& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}
int64_t Number(const AnswerJson& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}
const AnswerJson& Sub(const AnswerJson& json, const char* key) {
  static const AnswerJson kNothing = AnswerJson::object();
  const auto found = json.find(key);
  return found != json.end() && (found->is_object() || found->is_array()) ? *found : kNothing;
}

std::string Time(int64_t at) {
  if (at <= 0 || at > 8'000'000'000) return "?";
  const std::time_t seconds = at;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}Z", parts);
}

// What a group or pool has against a pod: that is a row of the table below.
bool IsInTheTable(std::string_view line) {
  for (const std::string_view begin :
       {"group ", "nearest: ", "pool ", "the nearest that would do, tried: "})
    if (line.starts_with(begin)) return true;
  return false;
}

void AddPod(const AnswerJson& json, std::string& out) {
  out += fmt::format("pod {} (pass of {})\n", TextOf(json, "pod"), Time(Number(json, "passAt")));
  for (const AnswerJson& line : Sub(json, "lines"))
    if (line.is_string() && !IsInTheTable(line.get_ref<const std::string&>()))
      out += "  " + line.get<std::string>() + "\n";
  const AnswerJson& groups = Sub(json, "groups");
  size_t width = 0;
  for (const AnswerJson& group : groups) width = std::max(width, TextOf(group, "group").size());
  for (const AnswerJson& group : groups)
    out += fmt::format("  {:<{}}  {}\n", TextOf(group, "group"), width, TextOf(group, "text"));
  if (const std::string nearest = TextOf(json, "nearest"); !nearest.empty())
    out += "nearest: " + nearest + "\n";
}

void AddNode(const AnswerJson& json, std::string& out) {
  const AnswerJson& now = Sub(json, "now");
  out += fmt::format("node {}", TextOf(json, "node"));
  if (const std::string row = TextOf(now, "row"); !row.empty()) out += " of " + row;
  if (const std::string state = TextOf(now, "state"); !state.empty()) out += ": " + state;
  out += "\n";
  if (now.contains("cpu")) {
    out += fmt::format("  cpu {:.0f}%, memory {:.0f}%, {} pods\n",
                       static_cast<double>(Number(now, "cpu")) / 10,
                       static_cast<double>(Number(now, "memory")) / 10, Number(now, "pods"));
  }
  if (const int64_t goes = Number(now, "goesAt"); goes > 0)
    out += "  goes at " + Time(goes) + " if nobody needs it until then\n";
  if (const int64_t end = Number(now, "expiresAt"); end > 0)
    out += "  expires at " + Time(end) + "\n";
  for (const AnswerJson& line : Sub(json, "lines"))
    if (line.is_string()) out += "  " + line.get<std::string>() + "\n";
}

std::string DecisionLine(const AnswerJson& decision) {
  const std::string kind = TextOf(decision, "kind");
  const char mark = kind == "up" ? '+' : kind == "down" ? '-' : kind == "trouble" ? '!' : '.';
  return fmt::format("{}  {} {}: {}\n", Time(Number(decision, "at")), mark,
                     TextOf(decision, "title"), TextOf(decision, "why"));
}

void AddGroup(const AnswerJson& json, std::string& out) {
  const AnswerJson& now = Sub(json, "now");
  out += fmt::format("{} {}: {} wanted, {} ready, between {} and {}\n", TextOf(now, "kind"),
                     TextOf(json, "group"), Number(now, "target"), Number(now, "ready"),
                     Number(now, "min"), Number(now, "max"));
  if (const std::string backoff = TextOf(now, "backoff"); !backoff.empty())
    out += "  backed off: " + backoff + " " + TextOf(now, "backoffText") + "\n";
  for (const AnswerJson& refusal : Sub(json, "refusals"))
    out += fmt::format("  refuses {} pods, such as {}: {}\n", Number(refusal, "pods"),
                       TextOf(refusal, "pod"), TextOf(refusal, "text"));
  for (const AnswerJson& decision : Sub(json, "decisions")) out += "  " + DecisionLine(decision);
}

void AddTexts(const AnswerJson& list, std::string_view before, std::string& out) {
  for (const AnswerJson& line : list)
    if (line.is_string()) out += fmt::format("  {}{}\n", before, line.get<std::string>());
}

void AddPool(const AnswerJson& json, std::string& out) {
  out += fmt::format("pool {}\n", TextOf(json, "group"));
  AddTexts(Sub(json, "lines"), "", out);
  for (const AnswerJson& refusal : Sub(json, "refusals"))
    out += fmt::format("  refuses {} pods, such as {}: {}\n", Number(refusal, "pods"),
                       TextOf(refusal, "pod"), TextOf(refusal, "text"));
  for (const AnswerJson& decision : Sub(json, "decisions")) out += "  " + DecisionLine(decision);
}

void AddGang(const AnswerJson& json, std::string& out) {
  if (const std::string phase = TextOf(json, "phase"); !phase.empty()) {
    out += fmt::format("gang {} is {}: {}\n", TextOf(json, "gang"), phase, TextOf(json, "why"));
    return;
  }
  out += fmt::format("gang {} of queue {}: needs {}, {} placed, {} pods wait\n  {}\n",
                     TextOf(json, "gang"), TextOf(json, "queue"), Number(json, "needs"),
                     Number(json, "placed"), Number(json, "waits"), TextOf(json, "why"));
  for (const AnswerJson& lack : Sub(json, "lacking"))
    out += fmt::format("  no room for {} of {}\n", Number(lack, "tasks"), TextOf(lack, "role"));
  for (const AnswerJson& lot : Sub(json, "lots"))
    out += fmt::format("  {} of {}, sold by {}\n", Number(lot, "machines"), TextOf(lot, "source"),
                       TextOf(lot, "seller"));
  if (const auto price = json.find("price"); price != json.end() && price->is_number())
    out += fmt::format("  {:.2f} an hour\n", price->get<double>());
  AddTexts(Sub(json, "refusals"), "refused: ", out);
}

}  // namespace

Result<std::string> ExplainedAsText(std::string_view text) {
  const AnswerJson json = TRY(ParseAnswer(text));
  std::string out;
  if (json.contains("pod")) {
    AddPod(json, out);
  } else if (json.contains("gang")) {
    AddGang(json, out);
  } else if (json.contains("claim")) {
    AddTexts(Sub(json, "lines"), "", out);
    if (const int64_t end = Number(Sub(json, "now"), "expiresAt"); end > 0)
      out += "  expires at " + Time(end) + "\n";
  } else if (json.contains("pool")) {
    AddPool(json, out);
  } else if (json.contains("node")) {
    AddNode(json, out);
  } else {
    AddGroup(json, out);
  }
  return out;
}

Result<std::string> DecisionsAsText(std::string_view text) {
  const AnswerJson json = TRY(ParseAnswer(text));
  std::string out;
  for (const AnswerJson& decision : Sub(json, "decisions")) out += DecisionLine(decision);
  return out.empty() ? "nothing has been decided yet\n" : out;
}

std::string ErrorOf(std::string_view body) {
  const AnswerJson json = AnswerJson::parse(body.begin(), body.end(), nullptr, false);
  if (json.is_object()) return Harmless(TextOf(json, "error"));
  return Harmless(body.substr(0, 200));
}

std::string OtherLeaderOf(std::string_view health) {
  const AnswerJson json = AnswerJson::parse(health.begin(), health.end(), nullptr, false);
  if (!json.is_object()) return "";
  const auto leads = json.find("leads");
  if (leads == json.end() || !leads->is_boolean() || leads->get<bool>()) return "";
  return Harmless(TextOf(json, "leader"));
}

}  // namespace coppice::web
