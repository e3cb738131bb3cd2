// Calls: unary gRPC calls of one service as a rule makes them: each with a deadline, answers parsed,
// many at once if need be. What carries the bytes comes from outside, so that a test needs no socket.
//
// Any thread.

#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/status.h"

namespace coppice::conform {

// "/package.Service/Method", the request's bytes, until when.
using Transport = std::function<Result<std::string>(const std::string& path,
                                                    std::string_view request, Deadline deadline)>;

// Runs each(0) … each(count - 1) on threads of their own that start together; all have ended on
// return.
void AtOnce(size_t count, const std::function<void(size_t)>& each);

class Calls {
 public:
  // `clock` outlives the object.
  Calls(Transport transport, Clock& clock, std::string service, Duration timeout)
      : transport_(std::move(transport)),
        clock_(clock),
        service_(std::move(service)),
        timeout_(timeout) {}

  Result<std::string> Bytes(const std::string& method, std::string_view request,
                            Duration within) const {
    return transport_("/" + service_ + "/" + method, request, Deadline::In(clock_, within));
  }
  Result<std::string> Bytes(const std::string& method, std::string_view request) const {
    return Bytes(method, request, timeout_);
  }

  template <class Answer, class Request>
  Result<Answer> Ask(const std::string& method, const Request& request) const {
    const std::string bytes = TRY(Bytes(method, request.SerializeAsString()));
    Answer answer;
    if (bytes.size() > std::numeric_limits<int>::max() ||
        !answer.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return Status(Code::kDataLoss, "the answer to " + method + " is not a well-formed message");
    }
    return answer;
  }

  Clock& clock() const { return clock_; }
  Duration timeout() const { return timeout_; }

 private:
  Transport transport_;
  Clock& clock_;
  std::string service_;
  Duration timeout_;
};

}  // namespace coppice::conform
