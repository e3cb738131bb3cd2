// HttpAnswers: the answers to the POSTs of one connection, cut out of its bytes one after the other.

#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "net/http_client.h"

namespace coppice::net {

struct AnswerLimits {
  size_t body_bytes = 10 << 20;
  size_t header_bytes = 64 << 10;
};

class HttpAnswers {
 public:
  explicit HttpAnswers(const AnswerLimits& limits);
  ~HttpAnswers();

  enum class State {
    kMore,   // not all of it is there
    kWhole,  // `response`
    kWrong,  // too long, or no HTTP: nothing after it means anything
  };
  struct Next {
    State state = State::kMore;
    HttpResponse response;
    bool keep_alive = false;  // another may follow
    bool ordinary = false;    // no redirect, and its body is as it was meant
  };

  void Add(std::string_view bytes);
  // The next answer.
  Next Take();
  // A new connection.
  void Reset();

 private:
  struct Parsing;
  const AnswerLimits limits_;
  std::unique_ptr<Parsing> parsing_;
};

}  // namespace coppice::net
