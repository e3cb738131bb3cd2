// An HTTP server that answers from the rules of a recorded extender case and notes every request to
// the letter: target and header names as they were sent.
//
// One thread per connection, on a loopback port of its own for the whole run. A request belongs to
// the script that was in place when it arrived, however late its answer is.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "test/replay/replay.h"

namespace coppice::replay {

struct SeenRequest {
  std::string method;
  std::string path;
  std::map<std::string, std::string> headers;
  std::string body;
};

// The rules of one case, and what came.
class Script {
 public:
  explicit Script(Json rules) : rules_(std::move(rules)) {}

  // Notes it and finds its answer; null: nothing matches.
  Json Answer(const SeenRequest& request);
  std::vector<SeenRequest> requests() const;

 private:
  Json rules_;
  mutable std::mutex mutex_;
  std::vector<SeenRequest> requests_;
  std::map<std::string, int> counts_;
};

class ScriptedServer {
 public:
  ScriptedServer();  // throws if it cannot listen
  uint16_t port() const { return port_; }
  void Play(std::shared_ptr<Script> script);

 private:
  void Serve(int socket);
  bool Reply(int socket, const SeenRequest& request, const Json& reply);

  int listener_ = -1;
  uint16_t port_ = 0;
  std::mutex mutex_;
  std::shared_ptr<Script> script_;
};

}  // namespace coppice::replay
