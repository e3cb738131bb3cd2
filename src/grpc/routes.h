// What a session can be asked for: unary methods, and the few streams that come with every server.
// Internal to this module.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "grpc/handler.h"

namespace coppice::grpc {

// What a stream's handler may do with its client. Lives as long as the handler.
class StreamClient {
 public:
  virtual ~StreamClient() = default;
  virtual void Send(std::string message) = 0;
  virtual void Finish(Status status) = 0;  // after what was sent; nothing may follow
};

// One stream of messages, both ways. Everything happens on the server's thread.
class StreamHandler {
 public:
  virtual ~StreamHandler() = default;
  virtual void OnMessage(std::string_view message) = 0;
  virtual void OnEnd() = 0;  // the client has sent its last message
};
using StreamFactory = std::function<std::unique_ptr<StreamHandler>(StreamClient& client)>;

struct Route {
  std::string path;
  Handler unary;
  bool waits = false;
  StreamFactory stream;  // set: not unary
};

class Routes {
 public:
  void Add(Route route) {
    const std::string path = route.path;
    by_path_.insert_or_assign(path, std::move(route));
  }
  const Route* Find(const std::string& path) const {
    const auto it = by_path_.find(path);
    return it == by_path_.end() ? nullptr : &it->second;
  }

 private:
  std::unordered_map<std::string, Route> by_path_;
};

}  // namespace coppice::grpc
