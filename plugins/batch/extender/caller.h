// Caller: one extender at the other end of HTTP, asked the way Go's client asks.
//
// POST to prefix + "/" + verb; 200 alone is an answer; redirects are followed as Go follows them,
// ten requests in all; an answer of more than 10 MiB is one only if its JSON ends before. Kept from session
// to session, so that connections stay warm and the breaker remembers.
//
// Any thread; several calls may be under way at once.

#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/pool.h"
#include "base/status.h"
#include "net/http_client.h"
#include "net/http_pipes.h"
#include "plugins/batch/extender/breaker.h"
#include "plugins/batch/extender/config.h"
#include "plugins/batch/extender/go_url.h"

namespace coppice::batch::extender {

inline constexpr size_t kMaxAnswerBytes = 10 << 20;
inline constexpr size_t kCallsAtOnce = 16;

// Makes the client that an extender is reached with.
using ClientMaker =
    std::function<Result<std::unique_ptr<net::HttpClient>>(net::HttpClientOptions options)>;
// Null: what many questions at once go over. None is made for tests that count requests.
using PipesMaker = std::function<std::unique_ptr<net::HttpPipes>(net::HttpPipesOptions options)>;

struct Reply {
  std::string body;
  bool cut = false;  // there was more than is allowed
};

// The answer of a reply, or why there is none: none came, it is not what it should be, or it is
// longer than it may be and does not end before that.
template <class A>
auto ReadReply(const Result<Reply>& reply, A read) -> decltype(read(std::string_view())) {
  if (!reply.ok()) return {.value = {}, .status = reply.status()};
  auto answer = read(std::string_view(reply->body));
  if (!answer.status.ok() && reply->cut) {
    answer.status = ResourceExhausted("the extender's answer is longer than 10 MiB");
  }
  return answer;
}

class Caller {
 public:
  static Result<std::shared_ptr<Caller>> Create(const Config& config, bool upstream_exact,
                                                const Clock& clock, const ClientMaker& make,
                                                const PipesMaker& make_pipes = nullptr);

  // An answer with status 200, or why there is none.
  Result<Reply> Post(const std::string& verb, const std::string& body);
  // Questions that change nothing, several at once; answers in the order of the bodies. Bodies are
  // made one after the other, each when its turn has come. Over plain HTTP, and not under
  // upstream_exact, a connection takes several before the first is answered, and one whose
  // connection died is asked again; else at most kCallsAtOnce are under way.
  std::vector<Result<Reply>> PostAll(const std::string& verb, size_t count,
                                     const std::function<std::string(size_t)>& body);

  // Read anew: a rotated token counts from the next session on.
  Status ReadToken();
  Breaker::State breaker_state() const { return breaker_.state(); }
  std::string last_failure() const { return breaker_.last_failure(); }
  // Whom it asks, without user and password.
  std::string Name() const;

 private:
  Caller(const Config& config, bool upstream_exact, const Clock& clock,
         std::unique_ptr<net::HttpClient> client);
  Result<Reply> Exchange(const std::string& verb, const std::string& body, Deadline deadline);
  bool PostOverPipes(const std::string& verb, const std::function<std::string(size_t)>& body,
                     std::vector<std::optional<Result<Reply>>>& replies);
  std::vector<Result<Reply>> PostOneByOne(const std::string& verb, size_t count,
                                          const std::function<std::string(size_t)>& body);
  Status Unexpected(const std::string& verb, int status) const;
  Secret Token() const;

  const std::string prefix_;
  const Duration timeout_;
  const std::string token_file_;
  const Clock& clock_;
  std::unique_ptr<net::HttpClient> client_;
  mutable std::mutex token_mutex_;  // bindings go on while the next session reads it anew
  Secret token_;
  Breaker breaker_;
  std::unique_ptr<Pool> pool_;             // made when several calls are to go out at once
  std::unique_ptr<net::HttpPipes> pipes_;  // null: not to this extender
};

}  // namespace coppice::batch::extender
