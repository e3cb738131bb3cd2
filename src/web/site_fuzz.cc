// A request of anybody's making: three lines (method, target, a header as name:value) and the body behind them. Whatever it is,
// it is answered; what is JSON is JSON; and what parses as a question says something.
#include <cstdint>
#include <nlohmann/json.hpp>

#include "web/site_rig.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coppice;
  static web::SiteRig rig(nullptr, {.loopback = false, .token = "0123456789abcdef"});
  static web::SiteRig open;
  static const bool told = [] {
    open.board().Post(std::shared_ptr<const report::SessionReport>(web::RigSession()));
    open.board().Post(web::SiteRig::Cluster({}, 500));
    open.board().Flush();
    return true;
  }();
  CHECK(told);
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto line = [&] {
    const std::string_view one = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    return one;
  };
  net::ServerRequest request{.method = std::string(line())};
  const auto target = net::ParseTarget(line());
  if (!target.ok()) return 0;
  request.path = target->path;
  request.query = target->query;
  const std::string_view header = line();
  const size_t colon = std::min(header.find(':'), header.size());
  request.headers = {{"host", "localhost"}, {"content-type", "application/json"}};
  request.headers.emplace_back(header.substr(0, colon),
                               header.substr(std::min(colon + 1, header.size())));
  request.body = std::string(text);
  const net::ServerResponse guarded = rig.site().Answer(request);
  CHECK(!request.path.starts_with("/api/") || guarded.status >= 400);  // it does not know the token
  const net::ServerResponse answer = open.site().Answer(request);
  CHECK(answer.status >= 200 && answer.status < 600);
  if (answer.content_type == "application/json") CHECK(nlohmann::json::accept(answer.body));
  if (const auto question = web::ParseQuestion(request.body); question.ok())
    CHECK(*question != web::Question{});
  std::string_view bytes = request.body;
  TimePoint at;
  (void)web::Unpack(bytes, at);
  return 0;
}
