// The other end: an extender in C++ that knows every verb, to try a scheduler against and to
// measure it by. Its rules are those of Volcano's example server (best-effort pods keep off crowded
// nodes); what it has no rule for it permits.
//
// Of what an opening shows it keeps what its rules need, so that bodies may be compact and openings
// may be deltas. Any thread.

#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "net/http_server.h"

namespace coppice::batch::extender {

struct GoValue;
struct AskedNode;
struct Question;

class ReferenceServer {
 public:
  struct Binding {
    std::string namespace_;
    std::string pod;
    std::string uid;
    std::string node;
  };
  // Puts pods on nodes, may wait. Null: it refuses to.
  using Bind = std::function<Status(const Binding& binding)>;
  explicit ReferenceServer(Bind bind = nullptr) : bind_(std::move(bind)) {}

  // By the last part of the path. 404: no such verb; 400: not what the verb is sent; 405: not a
  // POST.
  net::ServerResponse Answer(const net::ServerRequest& request);

 private:
  net::ServerResponse Open(const GoValue& body);
  net::ServerResponse AnswerBind(const GoValue& body) const;
  net::ServerResponse AnswerPredicate(const Question& question) const;
  net::ServerResponse AnswerOfNodes(const Question& question, bool scores) const;
  void Keep(const GoValue& opening);
  bool IsBestEffort(const Question& question) const;
  size_t TasksOn(const AskedNode& node) const;

  const Bind bind_;
  mutable std::mutex mutex_;
  std::string session_;  // of the last opening, if it was named
  std::map<std::string, std::map<std::string, bool>, std::less<>> jobs_;  // best effort, by task
  std::map<std::string, bool, std::less<>> best_effort_;                  // all of these by uid
  std::map<std::string, size_t, std::less<>> nodes_;                      // tasks on it
};

}  // namespace coppice::batch::extender
