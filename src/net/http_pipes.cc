#include "net/http_pipes.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>

#include "net/curl_parts.h"
#include "net/http_answers.h"

namespace coppice::net {
namespace {

using Steady = std::chrono::steady_clock;

constexpr size_t kReadBytes = 64 << 10;
constexpr Duration kLongestWait = std::chrono::seconds(1);
constexpr Duration kConnectTimeout = std::chrono::seconds(5);

class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  ~Socket() { Close(); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }
  void Reset(int fd) {
    Close();
    fd_ = fd;
  }
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

int WaitFor(int fd, short events, Duration patience) {
  pollfd one{.fd = fd, .events = events, .revents = 0};
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(patience).count();
  return ::poll(&one, 1, static_cast<int>(millis));
}

// Connected and not blocking, or -1.
int ConnectTo(const addrinfo& address) {
  const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  bool connected = ::connect(fd, address.ai_addr, address.ai_addrlen) == 0;
  if (!connected && errno == EINPROGRESS && WaitFor(fd, POLLOUT, kConnectTimeout) > 0) {
    int problem = 0;
    socklen_t size = sizeof problem;
    connected = ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size) == 0 && problem == 0;
  }
  if (connected) return fd;
  ::close(fd);
  return -1;
}

int ConnectTo(const Url& url) {
  const addrinfo hints{.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  const std::string port = std::to_string(url.PortOrDefault());
  if (::getaddrinfo(url.host.c_str(), port.c_str(), &hints, &found) != 0) return -1;
  int fd = -1;
  for (const addrinfo* one = found; one && fd < 0; one = one->ai_next) fd = ConnectTo(*one);
  ::freeaddrinfo(found);
  return fd;
}

// One connection: what is still to be sent, and whose answers are waited for, in order.
struct Pipe {
  explicit Pipe(const AnswerLimits& limits) : answers(limits) {}

  bool open() const { return socket.fd() >= 0; }
  void Begin(int fd) {
    socket.Reset(fd);
    out.clear();
    sent = 0;
    answers.Reset();
  }

  Socket socket;
  std::string out;
  size_t sent = 0;
  std::deque<size_t> waiting;
  Steady::time_point since;  // the first of them
  HttpAnswers answers;
};

class Pipes final : public HttpPipes {
 public:
  explicit Pipes(HttpPipesOptions options)
      : options_(std::move(options)),
        limits_{.body_bytes = options_.max_body_bytes, .header_bytes = options_.max_header_bytes} {}

  std::vector<std::optional<Result<HttpResponse>>> Ask(
      const Question& question, size_t count,
      const std::function<std::string(size_t)>& body) override;

 private:
  // One call of Ask.
  struct Round {
    const Question& question;
    const std::function<std::string(size_t)>& body;
    std::string head;  // of every request, up to the length of its body
    std::vector<std::optional<Result<HttpResponse>>> answers;
    size_t next = 0;
    std::deque<size_t> again;  // their connection died
    std::vector<bool> repeated;
    bool unreachable = false;

    bool MoreToSend() const { return !unreachable && (next < answers.size() || !again.empty()); }
    size_t TakeNext() {
      if (again.empty()) return next++;
      const size_t which = again.front();
      again.pop_front();
      return which;
    }
  };

  std::string HeadOf(const Question& question) const;
  void MeetServer(const Url& url);
  void Fill(Round& round);
  bool Fill(Round& round, Pipe& pipe, size_t depth);
  void Send(Round& round, Pipe& pipe);
  void Receive(Round& round, Pipe& pipe);
  void Drop(Round& round, Pipe& pipe);
  void EndLate(Round& round);
  bool Wait(Round& round);

  const HttpPipesOptions options_;
  const AnswerLimits limits_;
  std::string server_;       // whom the connections lead to
  bool persistent_ = false;  // it has shown that it keeps connections
  std::deque<Pipe> pipes_;
};

std::string Pipes::HeadOf(const Question& question) const {
  const Url& url = question.url;
  std::string head = "POST " + url.path + (url.query.empty() ? "" : "?" + url.query) +
                     " HTTP/1.1\r\nHost: " + url.Authority() +
                     "\r\nUser-Agent: " + options_.user_agent + "\r\n";
  for (const auto& [name, value] : question.headers) head += name + ": " + value + "\r\n";
  if (!question.bearer_token.empty())
    head += "Authorization: Bearer " + question.bearer_token.Reveal() + "\r\n";
  return head + "Content-Length: ";
}

void Pipes::MeetServer(const Url& url) {
  if (server_ == url.Authority()) return;
  server_ = url.Authority();
  persistent_ = false;
  pipes_.clear();
}

bool Pipes::Fill(Round& round, Pipe& pipe, size_t depth) {
  if (!pipe.open()) {
    const int fd = ConnectTo(round.question.url);
    round.unreachable = fd < 0;
    if (round.unreachable) return false;
    pipe.Begin(fd);
  }
  if (pipe.waiting.empty()) pipe.since = Steady::now();
  while (pipe.waiting.size() < depth && round.MoreToSend()) {
    const size_t which = round.TakeNext();
    const std::string body = round.body(which);
    pipe.out += round.head;
    pipe.out += std::to_string(body.size());
    pipe.out += "\r\n\r\n";
    pipe.out += body;
    pipe.waiting.push_back(which);
  }
  Send(round, pipe);
  return true;
}

// A connection gets more when half of what it had is answered: each time several at once.
void Pipes::Fill(Round& round) {
  const size_t depth = persistent_ ? options_.depth : 1;
  for (Pipe& pipe : pipes_) {
    if (!round.MoreToSend()) return;
    if (pipe.waiting.size() <= depth / 2) Fill(round, pipe, depth);
  }
  while (round.MoreToSend() && pipes_.size() < options_.connections)
    if (!Fill(round, pipes_.emplace_back(limits_), depth)) pipes_.pop_back();
}

void Pipes::Send(Round& round, Pipe& pipe) {
  while (pipe.sent < pipe.out.size()) {
    const ssize_t sent = ::send(pipe.socket.fd(), pipe.out.data() + pipe.sent,
                                pipe.out.size() - pipe.sent, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (sent <= 0) return Drop(round, pipe);
    pipe.sent += static_cast<size_t>(sent);
  }
  pipe.out.clear();
  pipe.sent = 0;
}

// Its questions are asked once more, each once; then it is for others to say what is wrong.
void Pipes::Drop(Round& round, Pipe& pipe) {
  for (const size_t which : pipe.waiting) {
    if (!round.repeated[which]) round.again.push_back(which);
    round.repeated[which] = true;
  }
  pipe.waiting.clear();
  pipe.socket.Close();
}

void Pipes::Receive(Round& round, Pipe& pipe) {
  char bytes[kReadBytes];
  const ssize_t length = ::recv(pipe.socket.fd(), bytes, sizeof bytes, 0);
  if (length < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (length <= 0 || pipe.waiting.empty()) return Drop(round, pipe);
  pipe.answers.Add({bytes, static_cast<size_t>(length)});
  while (!pipe.waiting.empty()) {
    HttpAnswers::Next next = pipe.answers.Take();
    if (next.state == HttpAnswers::State::kMore) return;
    const size_t which = pipe.waiting.front();
    pipe.waiting.pop_front();
    pipe.since = Steady::now();
    if (next.state == HttpAnswers::State::kWhole && next.ordinary)
      round.answers[which] = std::move(next.response);
    persistent_ = next.state == HttpAnswers::State::kWhole && next.keep_alive;
    if (!persistent_) return Drop(round, pipe);
  }
}

void Pipes::EndLate(Round& round) {
  if (round.question.timeout <= Duration::zero()) return;
  const auto now = Steady::now();
  for (Pipe& pipe : pipes_) {
    if (pipe.waiting.empty() || now - pipe.since < round.question.timeout) continue;
    for (const size_t which : pipe.waiting)
      round.answers[which] =
          DeadlineExceeded("POST " + round.question.url.ToString() + ": no answer in time");
    pipe.waiting.clear();
    pipe.socket.Close();
  }
}

// Until something can be read or sent, or the first is late; false: nobody is waited for.
bool Pipes::Wait(Round& round) {
  std::vector<pollfd> polled;
  std::vector<Pipe*> who;
  Duration patience = kLongestWait;
  const auto now = Steady::now();
  for (Pipe& pipe : pipes_) {
    if (pipe.waiting.empty()) continue;
    const bool sending = pipe.sent < pipe.out.size();
    const auto events = static_cast<short>(sending ? POLLIN | POLLOUT : POLLIN);
    polled.push_back({.fd = pipe.socket.fd(), .events = events, .revents = 0});
    who.push_back(&pipe);
    if (round.question.timeout > Duration::zero())
      patience = std::min<Duration>(patience, pipe.since + round.question.timeout - now);
  }
  if (who.empty()) return false;
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(patience).count();
  ::poll(polled.data(), polled.size(), static_cast<int>(std::max<int64_t>(millis, 0)) + 1);
  for (size_t i = 0; i < who.size(); ++i) {
    if (polled[i].revents & POLLOUT) Send(round, *who[i]);
    if (polled[i].revents & ~POLLOUT && who[i]->open()) Receive(round, *who[i]);
  }
  EndLate(round);
  return true;
}

std::vector<std::optional<Result<HttpResponse>>> Pipes::Ask(
    const Question& question, size_t count, const std::function<std::string(size_t)>& body) {
  Round round{.question = question, .body = body, .head = HeadOf(question)};
  round.answers.resize(count);
  round.repeated.resize(count);
  const bool fit = question.url.scheme == "http" && !HasControlBytes(question.url.ToString()) &&
                   !HasControlBytes(question.bearer_token.Reveal());
  if (!fit) return std::move(round.answers);
  MeetServer(question.url);
  do {
    Fill(round);
  } while (Wait(round) || round.MoreToSend());
  return std::move(round.answers);
}

}  // namespace

std::unique_ptr<HttpPipes> MakeHttpPipes(HttpPipesOptions options) {
  return std::make_unique<Pipes>(std::move(options));
}

}  // namespace coppice::net
