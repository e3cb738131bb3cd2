// What a gRPC service is made of, without a word of the gRPC library: methods are functions from
// bytes to bytes. So a service can be tested, fuzzed and replayed without a network, and an answer
// that changes seldom can be serialised once and sent many times.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace coppice::grpc {

// A serialised message: owned, or shared with whoever keeps it for the next caller too.
class Bytes {
 public:
  Bytes() = default;
  Bytes(std::string own) : own_(std::move(own)) {}  // NOLINT: implicit
  Bytes(std::shared_ptr<const std::string> shared)
      : shared_(std::move(shared)) {}  // NOLINT: implicit

  std::string_view view() const { return shared_ != nullptr ? *shared_ : own_; }
  // Null unless shared.
  const std::shared_ptr<const std::string>& shared() const { return shared_; }

 private:
  std::string own_;
  std::shared_ptr<const std::string> shared_;
};

// Who is at the other end. Asked only when somebody wants to know: it costs a walk over the
// certificate.
class Caller {
 public:
  virtual ~Caller() = default;
  // The subject alternative names of the verified client certificate, else its common name; empty
  // when the connection carries no certificate (a Unix socket, or plaintext on loopback).
  virtual std::vector<std::string> Names() const = 0;
  virtual std::string Address() const = 0;
};

// One call in progress. The views live as long as the handler runs.
struct Call {
  std::string_view method;   // "/package.Service/Method"
  std::string_view request;  // the serialised request
  Deadline deadline;         // the client's
  const Caller* caller = nullptr;
};

struct Answer {
  Status status;
  Bytes bytes;  // with an OK status

  Answer() = default;
  Answer(Bytes message) : bytes(std::move(message)) {}        // NOLINT: implicit on purpose
  Answer(std::string message) : bytes(std::move(message)) {}  // NOLINT
  Answer(Status failure) : status(std::move(failure)) {}      // NOLINT
};

// Any thread may call a handler, several at once.
using Handler = std::function<Answer(const Call&)>;

struct Method {
  std::string name;  // as in the .proto
  Handler handler;
  // May wait for the outside: runs on the workers, for the thread that reads the wire must never
  // wait.
  bool waits = false;
};

struct Service {
  std::string name;  // "package.Service"
  std::vector<Method> methods;

  std::string PathOf(const Method& method) const { return "/" + name + "/" + method.name; }
};

// The names of a caller as one text for logs: "autoscaler.kube-system, 10.0.0.7" or "no
// certificate".
std::string Describe(const Caller* caller);

}  // namespace coppice::grpc
