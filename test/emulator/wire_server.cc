#include "test/emulator/wire_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>

#include "base/strings.h"

namespace coppice::emulator {
namespace {

constexpr size_t kMaxHead = 64 << 10;
constexpr size_t kMaxBody = 16 << 20;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string PercentDecode(std::string_view text, bool plus_is_blank) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 &&
        HexDigit(text[i + 2]) >= 0) {
      out += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else {
      out += plus_is_blank && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

// Reads one request from `fd`; `rest` keeps what came after it. False: the connection is over.
bool ReadRequest(int fd, std::string& rest, Request& request) {
  char chunk[16384];
  size_t head_end = 0;
  const auto more = [&] {
    const ssize_t got = ::recv(fd, chunk, sizeof chunk, 0);
    if (got <= 0) return false;
    rest.append(chunk, static_cast<size_t>(got));
    return true;
  };
  while ((head_end = rest.find("\r\n\r\n")) == std::string::npos) {
    if (rest.size() > kMaxHead || !more()) return false;
  }
  const std::vector<std::string> lines = Split(rest.substr(0, head_end), '\n');
  const std::vector<std::string> first = Split(Trim(lines[0]), ' ');
  if (first.size() != 3) return false;
  request.method = first[0];
  ParseTarget(first[1], request);
  size_t length = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::string_view line = Trim(lines[i]);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return false;
    request.headers.emplace_back(Lower(line.substr(0, colon)),
                                 std::string(Trim(line.substr(colon + 1))));
  }
  if (const std::string* value = request.Header("content-length")) {
    std::from_chars(value->data(), value->data() + value->size(), length);
  }
  if (length > kMaxBody) return false;
  while (rest.size() < head_end + 4 + length) {
    if (!more()) return false;
  }
  request.body = rest.substr(head_end + 4, length);
  rest.erase(0, head_end + 4 + length);
  return true;
}

bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::string Serialise(const Response& response) {
  std::string out = fmt::format("HTTP/1.1 {} Emulated\r\n", response.status);
  for (const auto& [name, value] : response.headers) out += fmt::format("{}: {}\r\n", name, value);
  if (response.status != 204) out += fmt::format("Content-Length: {}\r\n", response.body.size());
  return out + "\r\n" + response.body;
}

}  // namespace

const std::string* Request::Header(std::string_view name) const {
  const auto it = std::ranges::find_if(headers, [&](const auto& h) { return h.first == name; });
  return it == headers.end() ? nullptr : &it->second;
}

void ParseTarget(std::string_view target, Request& request) {
  const size_t question = target.find('?');
  request.path = PercentDecode(target.substr(0, question), false);
  if (question == std::string_view::npos) return;
  for (const std::string& pair : Split(target.substr(question + 1), '&')) {
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    request.query.emplace_back(
        PercentDecode(std::string_view(pair).substr(0, equals), true),
        equals == std::string::npos
            ? ""
            : PercentDecode(std::string_view(pair).substr(equals + 1), true));
  }
}

struct WireServer::State {
  Clock* clock = nullptr;
  Handler handler;
  int listener = -1;
  int port = 0;
  std::string address;
  std::atomic<int> connections = 0;
  std::atomic<bool> stopping = false;
  std::thread acceptor;
  std::mutex mutex;
  struct Connection {
    int fd = -1;
    std::atomic<bool> done = false;
    std::thread thread;
  };
  std::list<Connection> open;

  void Accept() {
    while (!stopping) {
      pollfd wait{listener, POLLIN, 0};
      if (::poll(&wait, 1, 50) <= 0) continue;
      const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      const int one = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      ++connections;
      const std::lock_guard lock(mutex);
      std::erase_if(open, [](Connection& connection) {
        if (!connection.done) return false;
        connection.thread.join();
        ::close(connection.fd);
        return true;
      });
      Connection& connection = open.emplace_back();
      connection.fd = fd;
      connection.thread = std::thread([this, &connection] {
        Serve(connection.fd);
        connection.done = true;
      });
    }
  }

  void Serve(int fd) {
    std::string rest;
    while (!stopping) {
      Request request;
      if (!ReadRequest(fd, rest, request)) break;
      const Response response = handler(request);
      if (response.delay > Duration::zero()) clock->SleepFor(response.delay);
      if (response.ending == Response::Ending::kHang) {
        char byte = 0;  // returns when the caller gives up or the destructor cuts the connection
        while (::recv(fd, &byte, 1, 0) > 0) {
        }
        break;
      }
      if (response.ending == Response::Ending::kClose) break;
      std::string bytes = Serialise(response);
      if (response.ending == Response::Ending::kTruncate) {
        SendAll(fd, std::string_view(bytes).substr(0, bytes.size() - response.body.size() / 2));
        break;
      }
      if (!SendAll(fd, bytes)) break;
      const std::string* connection = request.Header("connection");
      if (connection != nullptr && Lower(*connection) == "close") break;
    }
    ::shutdown(
        fd,
        SHUT_RDWR);  // closed when the thread is joined, so that the number is not reused meanwhile
  }
};

Result<std::unique_ptr<WireServer>> WireServer::Start(const std::string& address, int port,
                                                      Clock& clock, Handler handler) {
  auto state = std::make_unique<State>();
  state->clock = &clock;
  state->handler = std::move(handler);
  state->address = address;
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<uint16_t>(port));
  if (::inet_pton(AF_INET, address.c_str(), &where.sin_addr) != 1) {
    return InvalidArgument(fmt::format("'{}' is not an IPv4 address", address));
  }
  state->listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int one = 1;
  ::setsockopt(state->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  socklen_t size = sizeof where;
  if (::bind(state->listener, reinterpret_cast<sockaddr*>(&where), size) != 0 ||
      ::listen(state->listener, 128) != 0 ||
      ::getsockname(state->listener, reinterpret_cast<sockaddr*>(&where), &size) != 0) {
    const int error = errno;
    ::close(state->listener);
    return Unavailable(fmt::format("listening on {}:{}: {}", address, port, std::strerror(error)));
  }
  state->port = ntohs(where.sin_port);
  state->acceptor = std::thread([raw = state.get()] { raw->Accept(); });
  return std::unique_ptr<WireServer>(new WireServer(std::move(state)));
}

WireServer::WireServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

WireServer::~WireServer() {
  state_->stopping = true;
  state_->acceptor.join();
  ::close(state_->listener);
  for (auto& connection : state_->open) ::shutdown(connection.fd, SHUT_RDWR);
  for (auto& connection : state_->open) {
    connection.thread.join();
    ::close(connection.fd);
  }
}

int WireServer::port() const { return state_->port; }
int WireServer::connections() const { return state_->connections; }
std::string WireServer::url() const {
  return fmt::format("http://{}:{}", state_->address, state_->port);
}

}  // namespace coppice::emulator
