// extender: whole cycles of the real Volcano scheduler with its extender plug-in against a scripted
// server: what was sent, to the byte, and what came of the answers.
//
// The server listens wherever there is room, so that the recorded authority is put back into what
// is compared. Texts that are the Go library's own words for a failed exchange are not compared.

#include <algorithm>
#include <array>
#include <string>

#include "plugins/batch/extender/fragments.h"
#include "test/replay/scripted_server.h"
#include "test/replay/session_case.h"
#include "wire/json_cursor.h"

namespace coppice::replay {
namespace {

constexpr std::string_view kRecorded = "127.0.0.1:18713";

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// The items of a JSON array, as they are written.
std::vector<std::string> ItemsOf(std::string_view array) {
  std::vector<std::string> items;
  wire::JsonCursor in(array);
  if (!in.Open('[')) return items;
  bool first = true;
  while (in.Next(']', first)) {
    (void)in.Peek();
    const char* from = in.at();
    if (!in.Skip()) return items;
    items.emplace_back(from, in.at());
  }
  return items;
}

// With the items of `member` in the order of their `key`, for upstream has them in any.
std::string WithSorted(const std::string& body, std::string_view member, const char* key) {
  for (const auto& [name, value] : batch::extender::MembersOf(body)) {
    if (name != member || !value.starts_with('[')) continue;
    std::vector<std::string> items = ItemsOf(value);
    std::ranges::sort(items, {},
                      [&](const std::string& item) { return Json::parse(item).value(key, ""); });
    std::string sorted;
    for (const std::string& item : items) sorted += (sorted.empty() ? "[" : ",") + item;
    std::string out = body;
    return out.replace(static_cast<size_t>(value.data() - body.data()), value.size(), sorted + "]");
  }
  return body;
}

// The time of the recording is written as @now.
std::string WithoutTime(std::string body) {
  static constexpr std::string_view kKey = R"("ScheduleStartTimestamp":")";
  for (size_t at = 0; (at = body.find(kKey, at)) != std::string::npos;) {
    at += kKey.size();
    body.replace(at, body.find('"', at) - at, "@now");
  }
  return body;
}

std::string ExtenderNameOf(const Json& body, const char* member) {
  return body.contains(member) && body[member].is_object() ? body[member].value("Name", "") : "";
}

// What a run of requests is sorted by, because upstream sends it in any order: predicates by task
// and node, readiness by job. Empty: the order counts.
std::string SortKey(const SeenRequest& request) {
  const Json body = Json::parse(request.body, nullptr, false);
  if (!body.is_object()) return "";
  if (body.contains("task") && body.contains("node")) {
    return ExtenderNameOf(body, "task") + "\n" + ExtenderNameOf(body, "node");
  }
  return request.path.ends_with("/jobReady") ? ExtenderNameOf(body, "job") : "";
}

void SortRuns(std::vector<SeenRequest>& requests) {
  std::vector<std::pair<std::string, SeenRequest>> keyed;
  for (SeenRequest& request : requests) {
    std::string key = SortKey(request);
    keyed.emplace_back(std::move(key), std::move(request));
  }
  for (size_t from = 0, to = 0; from < keyed.size(); from = to) {
    for (to = from + 1; to < keyed.size() && !keyed[to].first.empty() &&
                        keyed[to].second.path == keyed[from].second.path;) {
      ++to;
    }
    std::stable_sort(keyed.begin() + static_cast<std::ptrdiff_t>(from),
                     keyed.begin() + static_cast<std::ptrdiff_t>(to),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  for (size_t i = 0; i < keyed.size(); ++i) requests[i] = std::move(keyed[i].second);
}

std::vector<SeenRequest> Comparable(std::vector<SeenRequest> requests, const std::string& own) {
  for (SeenRequest& request : requests) {
    request.body = WithSorted(request.body, "nodes", "Name");
    request.body = WithSorted(request.body, "evictees", "UID");
    request.body = WithoutTime(std::move(request.body));
    for (auto& [name, value] : request.headers) value = Replaced(value, own, kRecorded);
  }
  SortRuns(requests);
  return requests;
}

std::string Around(const std::string& text, size_t at) {
  return "..." + text.substr(at < 60 ? 0 : at - 60, 160) + "...";
}

void CompareText(const std::string& where, const std::string& theirs, const std::string& ours,
                 Report& report) {
  if (theirs == ours) return;
  const size_t at = static_cast<size_t>(
      std::mismatch(theirs.begin(), theirs.end(), ours.begin(), ours.end()).first - theirs.begin());
  report.Differs(where + " at byte " + std::to_string(at), Around(theirs, at), Around(ours, at));
}

void CompareExtenderRequests(const Json& theirs, const std::vector<SeenRequest>& ours,
                             Report& report) {
  const auto sequence = [](const auto& requests, auto path) {
    std::string text;
    for (const auto& request : requests) text += path(request) + " ";
    return text;
  };
  const std::string their_paths =
      sequence(theirs, [](const Json& r) { return r.at("path").template get<std::string>(); });
  const std::string our_paths = sequence(ours, [](const SeenRequest& r) { return r.path; });
  if (their_paths != our_paths) return report.Differs("requests", their_paths, our_paths);
  for (size_t i = 0; i < ours.size(); ++i) {
    const Json& their = theirs[i];
    const std::string where = "request " + std::to_string(i) + " " + ours[i].path;
    CompareText(where + " method", their.value("method", ""), ours[i].method, report);
    CompareText(where + " headers", their.value("headers", Json::object()).dump(),
                Json(ours[i].headers).dump(), report);
    CompareText(where + " body", their.value("body", ""), ours[i].body, report);
  }
}

// Where the texts of a failed exchange begin that Go's libraries word.
bool HoldsGoWords(const Json& value) {
  static constexpr std::array<std::string_view, 10> kWords{
      "json: ", "http: ",       "Post \\\"",        "Get \\\"", "parse \\\"",
      "EOF",    "invalid char", "context deadline", "dial tcp", "unexpected end"};
  const std::string text = value.dump();
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

}  // namespace

void extender(const Json& c, Report& report) {
  static auto& server = *new ScriptedServer;  // never destroyed: it has threads
  const std::string own = "127.0.0.1:" + std::to_string(server.port());
  const auto script = std::make_shared<Script>(c.at("server"));
  server.Play(script);
  Json own_case = c;
  own_case["conf"] = Replaced(c.at("conf").get<std::string>(), kRecorded, own);
  ReplaySession(own_case, report, [&](const std::string& key, Json& theirs, Json& ours) {
    if (key != "podMessages" && key != "conditionMessages") return;
    if (HoldsGoWords(theirs)) {
      ours = theirs;
    } else if (!ours.is_null()) {
      ours = Json::parse(Replaced(ours.dump(), own, kRecorded));
    }
  });
  const auto requests = Comparable(script->requests(), own);
  std::map<std::string, int> counts;
  for (const SeenRequest& request : requests) ++counts[request.path];
  if (c.contains("requestCounts") && c.at("requestCounts") != Json(counts)) {
    report.Differs("requestCounts", c.at("requestCounts").dump(), Json(counts).dump());
  }
  if (c.contains("requests")) CompareExtenderRequests(c.at("requests"), requests, report);
}

}  // namespace coppice::replay
