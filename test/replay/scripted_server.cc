#include "test/replay/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace coppice::replay {
namespace {

using Ordered = nlohmann::ordered_json;

bool SendAll(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

// Up to and with the header's end, then the body. False: the other side has left.
bool ReadRequest(int socket, std::string& pending, SeenRequest& request) {
  const auto more = [&] {
    char room[1 << 16];
    const ssize_t got = recv(socket, room, sizeof room, 0);
    if (got > 0) pending.append(room, static_cast<size_t>(got));
    return got > 0;
  };
  size_t end = 0;
  while ((end = pending.find("\r\n\r\n")) == std::string::npos) {
    if (!more()) return false;
  }
  const std::string head = pending.substr(0, end + 2);
  pending.erase(0, end + 4);
  size_t at = head.find("\r\n");
  const std::string line = head.substr(0, at);
  const size_t blank = line.find(' ');
  request.method = line.substr(0, blank);
  request.path = line.substr(blank + 1, line.rfind(' ') - blank - 1);
  size_t length = 0;
  for (at += 2; at < head.size();) {
    const size_t stop = head.find("\r\n", at);
    const std::string header = head.substr(at, stop - at);
    at = stop + 2;
    const size_t colon = header.find(": ");
    if (colon == std::string::npos) continue;
    request.headers[header.substr(0, colon)] = header.substr(colon + 2);
  }
  if (const auto it = request.headers.find("Content-Length"); it != request.headers.end()) {
    length = std::stoul(it->second);
  }
  while (pending.size() < length) {
    if (!more()) return false;
  }
  request.body = pending.substr(0, length);
  pending.erase(0, length);
  return true;
}

std::string NameIn(const Json& body, const char* member) {
  const auto it = body.find(member);
  return it == body.end() || !it->is_object() ? "" : it->value("Name", "");
}

bool Matches(const Json& rule, const SeenRequest& request, int nth) {
  const std::string path = rule.value("path", "*");
  if (path != "*" && path != request.path) return false;
  if (!rule.contains("when")) return true;
  const Json body = Json::parse(request.body, nullptr, false);
  for (const auto& [key, value] : rule.at("when").items()) {
    if (key == "nth") {
      const std::string wanted = value.is_string() ? value.get<std::string>() : value.dump();
      if (wanted != std::to_string(nth)) return false;
    } else if (!body.is_object() || NameIn(body, key.c_str()) != value.get<std::string>()) {
      return false;
    }
  }
  return true;
}

// {"status":vote,"victims":[...]} of those evictees that are listed.
std::string VictimsBody(const Json& reply, const std::string& body) {
  const Ordered sent = Ordered::parse(body, nullptr, false);
  std::vector<Ordered> chosen;
  if (sent.is_object() && sent.contains("evictees") && sent["evictees"].is_array()) {
    for (const Ordered& task : sent["evictees"]) {
      const std::string name = task.value("Name", "");
      for (const Json& wanted : reply.at("victims")) {
        if (wanted != "*" && wanted != name) continue;
        if (reply.value("uidOnly", false)) {
          chosen.push_back(Ordered{{"UID", task.value("UID", "")}});
        } else {
          chosen.push_back(task);
        }
        break;
      }
    }
  }
  std::ranges::sort(chosen, {}, [](const Ordered& task) { return task.value("UID", ""); });
  Ordered answer;
  answer["status"] = reply.value("vote", 0);
  answer["victims"] = chosen;
  return answer.dump();
}

// With a first member that makes it exactly so long.
std::string Padded(const std::string& body, size_t length) {
  const std::string rest = body.substr(1);
  const std::string open = R"({"pad":")";
  const std::string close = rest == "}" ? "\"" : "\",";
  const size_t used = open.size() + close.size() + rest.size();
  return open + std::string(length > used ? length - used : 0, 'x') + close + rest;
}

std::string Gzipped(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

Json Script::Answer(const SeenRequest& request) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(request);
  const int nth = ++counts_[request.path];
  for (const Json& rule : rules_) {
    if (Matches(rule, request, nth)) return rule.at("reply");
  }
  return nullptr;
}

std::vector<SeenRequest> Script::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

ScriptedServer::ScriptedServer() {
  listener_ = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (listener_ < 0 || bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 128) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("the scripted server cannot listen");
  }
  port_ = ntohs(address.sin_port);
  // Lives as long as the program: whoever waits for a late answer may still be there at its end.
  std::thread([this] {
    for (;;) {
      const int connection = accept(listener_, nullptr, nullptr);
      if (connection < 0) continue;
      const int on = 1;
      setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      std::thread([this, connection] {
        Serve(connection);
        close(connection);
      }).detach();
    }
  }).detach();
}

void ScriptedServer::Play(std::shared_ptr<Script> script) {
  const std::lock_guard lock(mutex_);
  script_ = std::move(script);
}

void ScriptedServer::Serve(int socket) {
  std::string pending;
  for (;;) {
    SeenRequest request;
    if (!ReadRequest(socket, pending, request)) return;
    std::shared_ptr<Script> script;
    {
      const std::lock_guard lock(mutex_);
      script = script_;
    }
    const Json reply = script ? script->Answer(request) : Json();
    if (!Reply(socket, request, reply)) return;
  }
}

bool ScriptedServer::Reply(int socket, const SeenRequest& request, const Json& reply) {
  if (reply.is_null())
    return SendAll(socket, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(reply.value("delayMs", 0)));
  if (reply.value("close", false)) return false;
  const int status = reply.value("status", 200);
  std::string body = reply.value("body", "");
  if (reply.contains("victims")) body = VictimsBody(reply, request.body);
  if (reply.contains("padTo")) body = Padded(body, reply.at("padTo").get<size_t>());
  std::string head = "HTTP/1.1 " + std::to_string(status) + " Scripted\r\n";
  const Json headers = reply.value("headers", Json::object());
  for (const auto& [name, value] : headers.items()) {
    head += name + ": " + value.get<std::string>() + "\r\n";
  }
  if (reply.value("gzip", false)) {
    body = Gzipped(body);
    head += "Content-Encoding: gzip\r\n";
  }
  if (status == 204) body.clear();
  if (status != 204) head += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return SendAll(socket, head + "\r\n" + body);
}

}  // namespace coppice::replay
