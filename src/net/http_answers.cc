#include "net/http_answers.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <string>

#include "base/strings.h"

namespace coppice::net {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

struct HttpAnswers::Parsing {
  std::string unread;
  size_t read = 0;  // of `unread`
  std::optional<http::response_parser<http::string_body>> parser;
};

HttpAnswers::HttpAnswers(const AnswerLimits& limits)
    : limits_(limits), parsing_(std::make_unique<Parsing>()) {}
HttpAnswers::~HttpAnswers() = default;

void HttpAnswers::Reset() { parsing_ = std::make_unique<Parsing>(); }

void HttpAnswers::Add(std::string_view bytes) {
  parsing_->unread.erase(0, parsing_->read);
  parsing_->read = 0;
  parsing_->unread += bytes;
}

HttpAnswers::Next HttpAnswers::Take() {
  Parsing& p = *parsing_;
  for (;;) {
    if (!p.parser) {
      p.parser.emplace();
      p.parser->eager(true);
      p.parser->header_limit(static_cast<uint32_t>(limits_.header_bytes));
      p.parser->body_limit(limits_.body_bytes);
    }
    if (p.read == p.unread.size()) return {};
    error_code problem;
    p.read +=
        p.parser->put(asio::buffer(p.unread.data() + p.read, p.unread.size() - p.read), problem);
    if (problem == http::error::need_more) return {};
    if (problem) return {.state = State::kWrong};
    if (!p.parser->is_done()) {
      // One that lasts until the connection ends is nothing that another could follow.
      if (p.parser->is_header_done() && p.parser->need_eof()) return {.state = State::kWrong};
      continue;
    }
    auto message = p.parser->release();
    p.parser.reset();
    if (message.result_int() < 200) continue;  // 100 Continue
    Next next{.state = State::kWhole};
    next.keep_alive = message.keep_alive() && message.version() >= 11;
    next.response.status = static_cast<int>(message.result_int());
    for (const auto& field : message)
      next.response.headers.emplace_back(Lower(std::string_view(field.name_string())),
                                         std::string(field.value()));
    next.response.body = std::move(message.body());
    next.ordinary = (next.response.status < 300 || next.response.status >= 400) &&
                    !next.response.Header("content-encoding");
    return next;
  }
}

}  // namespace coppice::net
