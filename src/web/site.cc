#include "web/site.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "web/assets.h"

namespace coppice::web {
namespace {

using net::ServerRequest;
using net::ServerResponse;

// Nothing but our own files, and nobody may frame us. Style is set by script through the object
// model, which this allows; style attributes in markup it does not.
constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
constexpr size_t kMostPoints = 2'000;

ServerResponse JsonAnswer(int status, std::string body) {
  return {.status = status, .content_type = "application/json", .body = std::move(body) + "\n"};
}

ServerResponse Problem(int status, std::string_view why) {
  report::JsonOut out;
  return JsonAnswer(status, out.Open('{').Field("error", why).Close('}').Take());
}

int HttpStatus(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return 400;
    case Code::kNotFound:
      return 404;
    case Code::kResourceExhausted:
      return 429;
    default:
      return 503;
  }
}

ServerResponse JsonAnswer(Result<std::string> answer) {
  if (answer.ok()) return JsonAnswer(200, *std::move(answer));
  return Problem(HttpStatus(answer.status().code()), answer.status().message());
}

std::string_view TypeOfFile(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "text/plain; charset=utf-8";
}

// Changes when the bytes do; FNV is enough to tell builds apart.
std::string TagOf(std::string_view bytes) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return "\"" + std::to_string(hash) + "\"";
}

ServerResponse File(const ServerRequest& request, std::string_view name) {
  const auto assets = Assets();
  const auto asset = std::ranges::find(assets, name, &Asset::name);
  if (asset == assets.end()) return {.status = 404, .body = "not found\n"};
  ServerResponse response{.content_type = std::string(TypeOfFile(name))};
  const std::string tag = TagOf(asset->bytes);
  response.headers.emplace_back("ETag", tag);
  response.headers.emplace_back("Cache-Control", "no-cache");
  if (const std::string* known = request.Header("if-none-match"); known && *known == tag) {
    response.status = 304;
  } else {
    response.body = asset->bytes;
  }
  return response;
}

// A misspelt name would silently be the default.
Status OnlyQuery(const ServerRequest& request, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : request.query) {
    if (std::ranges::find(known, name) == known.end())
      return InvalidArgument("there is no parameter '" + name.substr(0, 40) + "' here");
  }
  return Status::Ok();
}

Result<std::optional<TimePoint>> TimeQuery(const ServerRequest& request, std::string_view name) {
  const std::string* text = request.Query(name);
  if (text == nullptr) return std::optional<TimePoint>();
  const int64_t seconds = TRY(ParseUnix(*text));
  return std::optional(TimePoint(std::chrono::seconds(seconds)));
}

Result<uint64_t> CountQuery(const ServerRequest& request, std::string_view name, uint64_t otherwise,
                            uint64_t most) {
  const std::string* text = request.Query(name);
  return text == nullptr ? Result<uint64_t>(otherwise) : ParseCount(*text, most);
}

void AddHeaders(ServerResponse& response) {
  response.headers.emplace_back("Content-Security-Policy", kPolicy);
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
  response.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  const bool has_cache = std::ranges::any_of(
      response.headers, [](const auto& header) { return header.first == "Cache-Control"; });
  if (!has_cache) response.headers.emplace_back("Cache-Control", "no-store");
}

// What a replica that does not decide has nothing to say about: it names the one that does.
bool IsOfPasses(std::string_view what) {
  return what == "explain" || what == "decision" || what == "decisions" || what == "pass" ||
         what == "pools";
}

}  // namespace

net::HttpServerOptions SiteServerOptions(const net::HostPort& at, const Log& log) {
  return {.host = at.host,
          .port = at.port,
          .max_body_bytes = 64 << 10,
          .max_held_bytes = 256 << 20,  // the state of a large cluster, for a few at once
          .max_connections = 1'000,
          .max_streams = 500,
          .max_stream_backlog = 8 << 20,
          .log = log};
}

ServerResponse Site::Answer(const ServerRequest& request) {
  ServerResponse response;
  if (const Guard::No no = parts_.guard.Check(request); !no.why.empty()) {
    response = Problem(no.status, no.why);
  } else if (request.path.starts_with("/api/")) {
    response = Api(request);
  } else if (request.method == "POST") {
    response = Problem(405, "GET and HEAD");
  } else if (request.path == "/") {
    response = File(request, "index.html");
  } else if (request.path == "/favicon.ico") {
    response = File(request, "icon.svg");
  } else if (request.path.starts_with("/assets/")) {
    response = File(request, std::string_view(request.path).substr(8));
  } else {
    response = {.status = 404, .body = "not found\n"};
  }
  AddHeaders(response);
  return response;
}

ServerResponse Site::Api(const ServerRequest& request) {
  constexpr std::string_view kPrefix = "/api/v1/";
  if (!request.path.starts_with(kPrefix)) return Problem(404, "there is /api/v1/");
  const std::string what = request.path.substr(kPrefix.size());
  const bool post = request.method == "POST";
  if (post && what == "session") {
    const auto token = ParseToken(request.body);
    if (!token.ok()) return Problem(400, token.status().message());
    return parts_.guard.LogIn(request, *token);
  }
  if (const Guard::No no = parts_.guard.CheckReader(request); !no.why.empty())
    return Problem(no.status, no.why);
  if (post) return Post(what, request);
  ServerResponse answer = Get(what, request);
  if (parts_.stands_by && IsOfPasses(what) && answer.status != 400) {
    if (const std::string why = parts_.stands_by(); !why.empty()) return Problem(503, why);
  }
  return answer;
}

ServerResponse Site::Post(const std::string& what, const ServerRequest& request) {
  if (what == "control") {
    if (!parts_.control) return Problem(404, "there is nothing to steer: this is a real cluster");
    const auto control = ParseControl(request.body);
    if (!control.ok()) return Problem(400, control.status().message());
    parts_.control(*control);
    const std::string state = parts_.control_state();
    parts_.board.Say("control", state);
    return JsonAnswer(200, state);
  }
  if (what == "whatif") {
    if (parts_.desk == nullptr) return Problem(404, "no what-if is answered here");
    auto question = ParseQuestion(request.body);
    if (!question.ok()) return Problem(400, question.status().message());
    const auto id = parts_.desk->Ask(*std::move(question));
    if (!id.ok()) return Problem(429, id.status().message());
    return JsonAnswer(202, R"({"id":)" + std::to_string(*id) + R"(,"state":"running"})");
  }
  return Problem(405, "nothing is posted there");
}

ServerResponse Site::Get(const std::string& what, const ServerRequest& request) {
  const Story& story = parts_.board.story();
  if (what == "state") return State(request);
  if (what == "events") return Events(request);
  if (what == "timeline") return Timeline(request);
  if (what == "explain") return Explain(request);
  if (what == "decisions") {
    const Status known = OnlyQuery(request, {"before", "limit", "until"});
    const auto before = CountQuery(request, "before", 0, UINT64_MAX);
    const auto limit = CountQuery(request, "limit", 100, 1'000);
    const auto until = TimeQuery(request, "until");
    for (const Status& status : {known, before.status(), limit.status(), until.status()})
      if (!status.ok()) return Problem(400, status.message());
    return JsonAnswer(200, story.Decisions(*before, *limit, *until));
  }
  if (what == "decision" || what == "whatif") {
    const Status known = OnlyQuery(request, {"id"});
    const auto id = CountQuery(request, "id", 0, UINT64_MAX);
    for (const Status& status : {known, id.status()})
      if (!status.ok()) return Problem(400, status.message());
    if (what == "decision") return JsonAnswer(story.Decision(*id));
    if (parts_.desk == nullptr) return Problem(404, "no what-if is answered here");
    return JsonAnswer(parts_.desk->Answer(*id));
  }
  if (const Status none = OnlyQuery(request, {}); !none.ok()) return Problem(400, none.message());
  if (what == "openapi.yaml") return File(request, "openapi.yaml");
  if (what == "pass") return JsonAnswer(story.LastPass());
  if (what == "pools") return JsonAnswer(story.LastPools());
  if (what == "health") return Health();
  if (what == "control")
    return JsonAnswer(200, parts_.control_state ? parts_.control_state() : R"({"mode":"cluster"})");
  return Problem(404, "there is no such page; /api/v1/openapi.yaml lists them");
}

ServerResponse Site::State(const ServerRequest& request) {
  const Status known = OnlyQuery(request, {"at"});
  const auto at = TimeQuery(request, "at");
  for (const Status& status : {known, at.status()})
    if (!status.ok()) return Problem(400, status.message());
  const Story& story = parts_.board.story();
  return *at ? JsonAnswer(story.StateAt(**at)) : JsonAnswer(200, story.State());
}

ServerResponse Site::Timeline(const ServerRequest& request) {
  const Status known = OnlyQuery(request, {"from", "to", "points"});
  const auto from = TimeQuery(request, "from");
  const auto to = TimeQuery(request, "to");
  const auto points = CountQuery(request, "points", 600, kMostPoints);
  for (const Status& status : {known, from.status(), to.status(), points.status()})
    if (!status.ok()) return Problem(400, status.message());
  return JsonAnswer(200, parts_.board.story().Timeline(*from, *to, std::max<uint64_t>(1, *points)));
}

ServerResponse Site::Explain(const ServerRequest& request) {
  if (const Status known = OnlyQuery(request, {"pod", "node", "group", "pool", "claim", "gang"});
      !known.ok())
    return Problem(400, known.message());
  if (request.query.size() != 1)
    return Problem(400,
                   "ask for one of pod=NAMESPACE/NAME, node=NAME, group=NAME, pool=NAME, "
                   "claim=NAME, gang=NAMESPACE/NAME");
  const Story& story = parts_.board.story();
  if (const std::string* gang = request.Query("gang")) return JsonAnswer(story.Gang(*gang));
  if (const std::string* claim = request.Query("claim")) return JsonAnswer(story.Claim(*claim));
  if (const std::string* node = request.Query("node")) return JsonAnswer(story.Node(*node));
  if (const std::string* pod = request.Query("pod")) {
    const size_t slash = pod->find('/');
    if (slash == std::string::npos) return Problem(400, "a pod is asked for as NAMESPACE/NAME");
    const std::string_view text = *pod;
    return JsonAnswer(story.Pod(text.substr(0, slash), text.substr(slash + 1)));
  }
  return JsonAnswer(story.Row(request.query.front().second));
}

ServerResponse Site::Events(const ServerRequest& request) {
  const Status known = OnlyQuery(request, {"since"});
  auto since = CountQuery(request, "since", 0, UINT64_MAX);
  // What a browser that connects again has seen last counts more than what it began with.
  if (const std::string* last = request.Header("last-event-id"); last && !last->empty())
    since = ParseCount(*last, UINT64_MAX);
  for (const Status& status : {known, since.status()})
    if (!status.ok()) return Problem(400, status.message());
  ServerResponse response{.content_type = "text/event-stream"};
  response.stream = [this, seq = *since](std::shared_ptr<net::ServerStream> stream) {
    parts_.board.Subscribe(std::move(stream), seq);
  };
  return response;
}

ServerResponse Site::Health() {
  report::JsonOut out;
  out.Open('{');
  if (parts_.health) parts_.health(out);
  out.Field("watchers", parts_.board.watchers());
  parts_.board.story().WriteHealth(out);
  return JsonAnswer(200, out.Close('}').Take());
}

}  // namespace coppice::web
