// HttpPipes: many small questions to one server over plain HTTP/1.1, several on each connection
// before the first is answered (RFC 9112 9.3.2).
//
// For questions that change nothing and may be asked twice, which this does when a connection dies
// under them: a system call then serves a handful of questions, where a client that waits for each
// answer needs two of its own. Whatever is out of the ordinary (a redirect, a packed answer, a
// server that cannot be reached, a proxy or TLS on the way) is left to HttpClient, which has a word
// for it: such a question comes back unanswered. To a server that closes connections after an
// answer, or has not yet shown that it does not, nothing is sent ahead.
//
// One caller at a time, who waits; no thread of its own.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/secret.h"
#include "base/status.h"
#include "net/http_client.h"
#include "net/url.h"

namespace coppice::net {

struct HttpPipesOptions {
  std::string user_agent = "coppice";
  size_t connections = 16;
  size_t depth = 8;  // questions on a connection at a time
  size_t max_body_bytes = 10 << 20;
  size_t max_header_bytes = 64 << 10;
};

class HttpPipes {
 public:
  virtual ~HttpPipes() = default;

  struct Question {
    const Url& url;  // plain http; all at one server are asked over the same connections
    const std::vector<std::pair<std::string, std::string>>& headers;
    const Secret& bearer_token;
    Duration timeout;  // from when nothing is in front of it any more; zero and below: none
  };
  // POSTs `count` bodies, each made when its turn has come. Of each the answer, or that none came
  // in time; or nothing: ask it another way.
  virtual std::vector<std::optional<Result<HttpResponse>>> Ask(
      const Question& question, size_t count, const std::function<std::string(size_t)>& body) = 0;
};

std::unique_ptr<HttpPipes> MakeHttpPipes(HttpPipesOptions options);

}  // namespace coppice::net
