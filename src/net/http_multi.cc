#include "net/http_multi.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "net/curl_parts.h"
#include "net/url.h"

namespace coppice::net {
namespace {

using Steady = std::chrono::steady_clock;

constexpr size_t kMaxHeaderBytes = 64 << 10;
constexpr long kBufferBytes = 512 << 10;  // measured: fewer, larger reads of big lists
constexpr int kLongestWaitMillis = 1'000;

struct Conversation {
  uint64_t number = 0;
  MultiRequest request;
  std::shared_ptr<Exchange> exchange;
  CURL* handle = nullptr;
  HeaderList headers;
  HeaderList connect_to;
  size_t sent = 0;
  size_t header_bytes = 0;
  HttpResponse head;
  bool head_given = false;
  bool given_up = false;  // by the exchange
  std::string why_stopped;
  Steady::time_point last_byte;
  Duration unacknowledged_timeout{};
  char detail[CURL_ERROR_SIZE] = {};
};

bool GiveHead(Conversation& transfer) {
  if (transfer.head_given) return true;
  transfer.head_given = true;
  long status = 0;
  curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
  transfer.head.status = static_cast<int>(status);
  transfer.given_up = !transfer.exchange->OnHead(transfer.head);
  return !transfer.given_up;
}

size_t OnConversationHeader(char* data, size_t, size_t size, void* opaque) {
  auto& transfer = *static_cast<Conversation*>(opaque);
  transfer.last_byte = Steady::now();
  transfer.header_bytes += size;
  if (transfer.header_bytes > kMaxHeaderBytes) {
    transfer.why_stopped =
        fmt::format("the answer's headers are longer than {} bytes", kMaxHeaderBytes);
    return 0;
  }
  const std::string_view line(data, size);
  AddHeaderLine(line, transfer.head);
  if (line != "\r\n" && line != "\n") return size;
  // The empty line: a stream's first event may be minutes away, but that it stands is news now.
  long status = 0;
  curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
  if (status < 200) return size;  // 100-continue
  return GiveHead(transfer) ? size : 0;
}

size_t OnConversationBody(char* data, size_t, size_t size, void* opaque) {
  auto& transfer = *static_cast<Conversation*>(opaque);
  transfer.last_byte = Steady::now();
  if (!GiveHead(transfer)) return 0;
  if (transfer.exchange->OnBody({data, size})) return size;
  transfer.given_up = true;
  return 0;
}

// Cannot rewind, on purpose: libcurl then fails a repetition on a dead connection instead of making
// it.
size_t OnConversationSend(char* data, size_t, size_t room, void* opaque) {
  auto& transfer = *static_cast<Conversation*>(opaque);
  const std::string& body = transfer.request.http.body;
  const size_t count = std::min(room, body.size() - transfer.sent);
  std::copy_n(body.data() + transfer.sent, count, data);
  transfer.sent += count;
  return count;
}

int OnConversationSocket(void* opaque, curl_socket_t socket, curlsocktype) {
  const auto& transfer = *static_cast<Conversation*>(opaque);
  const auto millis = static_cast<unsigned>(
      std::chrono::duration_cast<std::chrono::milliseconds>(transfer.unacknowledged_timeout)
          .count());
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &millis, sizeof millis);
  return CURL_SOCKOPT_OK;
}

class CurlMulti final : public MultiClient {
 public:
  explicit CurlMulti(MultiClientOptions options, CURLM* multi)
      : options_(std::move(options)), multi_(multi), thread_([this] { Run(); }) {}

  ~CurlMulti() override {
    stop_ = true;
    curl_multi_wakeup(multi_);
    thread_.join();
    curl_multi_cleanup(multi_);
  }

  uint64_t Start(MultiRequest request, std::shared_ptr<Exchange> exchange) override {
    auto transfer = std::make_unique<Conversation>();
    transfer->request = std::move(request);
    transfer->exchange = std::move(exchange);
    transfer->unacknowledged_timeout = options_.unacknowledged_timeout;
    uint64_t number = 0;
    {
      const MutexLock lock(mutex_);
      number = ++last_number_;
      transfer->number = number;
      to_start_.push_back(std::move(transfer));
    }
    curl_multi_wakeup(multi_);
    return number;
  }

  void Cancel(uint64_t number) override {
    {
      const MutexLock lock(mutex_);
      to_cancel_.push_back(number);
    }
    curl_multi_wakeup(multi_);
  }

 private:
  void Run() {
    while (!stop_) {
      TakeOrders();
      int running = 0;
      curl_multi_perform(multi_, &running);
      Finished();
      EndSilent();
      curl_multi_poll(multi_, nullptr, 0, PollMillis(), nullptr);
    }
    TakeOrders();
    while (!transfers_.empty()) End(transfers_.begin()->first, Cancelled("the client stops"));
  }

  int PollMillis() const {
    Steady::time_point next = Steady::now() + std::chrono::milliseconds(kLongestWaitMillis);
    for (const auto& [number, transfer] : transfers_) {
      if (transfer->request.max_silence == Duration::zero()) continue;
      next = std::min(next, transfer->last_byte + transfer->request.max_silence);
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(next - Steady::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left + 1, 0, kLongestWaitMillis));
  }

  void TakeOrders() {
    std::vector<std::unique_ptr<Conversation>> starts;
    std::vector<uint64_t> cancels;
    {
      const MutexLock lock(mutex_);
      starts.swap(to_start_);
      cancels.swap(to_cancel_);
    }
    for (auto& transfer : starts) Begin(std::move(transfer));
    for (const uint64_t number : cancels) End(number, Cancelled("cancelled"));
  }

  void Begin(std::unique_ptr<Conversation> transfer) {
    if (const Status fit = CheckRequest(transfer->request.http); !fit.ok()) {
      transfer->exchange->OnEnd(fit);
      return;
    }
    transfer->handle = curl_easy_init();
    if (transfer->handle == nullptr) {
      transfer->exchange->OnEnd(Internal("libcurl gave no handle"));
      return;
    }
    transfer->last_byte = Steady::now();
    Prepare(*transfer);
    const uint64_t number = transfer->number;
    CURL* handle = transfer->handle;
    transfers_.emplace(number, std::move(transfer));
    if (curl_multi_add_handle(multi_, handle) != CURLM_OK) {
      End(number, Internal("libcurl does not take the request"));
    }
  }

  void Prepare(Conversation& transfer) const {
    CURL* handle = transfer.handle;
    const auto set = [handle](CURLoption option, auto value) {
      curl_easy_setopt(handle, option, value);
    };
    const MultiRequest& request = transfer.request;
    const auto millis = [](Duration d) {
      return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(d).count());
    };
    set(CURLOPT_PRIVATE, &transfer);
    set(CURLOPT_URL, request.http.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
    // Rather one HTTP/2 connection than one per request. Not without TLS: there is no negotiation
    // that would tell libcurl that the connection is not one to share, and the others would wait
    // for a stream that never ends.
    if (request.http.url.starts_with("https:")) set(CURLOPT_PIPEWAIT, 1L);
    set(CURLOPT_NOSIGNAL, 1L);
    if (request.timeout > Duration::zero())
      set(CURLOPT_TIMEOUT_MS, std::max(1L, millis(request.timeout)));
    set(CURLOPT_CONNECTTIMEOUT_MS, millis(options_.connect_timeout));
    set(CURLOPT_BUFFERSIZE, kBufferBytes);
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_TCP_KEEPIDLE, 15L);
    set(CURLOPT_TCP_KEEPINTVL, 5L);
    set(CURLOPT_USERAGENT, options_.user_agent.c_str());
    set(CURLOPT_ACCEPT_ENCODING, "gzip");
    set(CURLOPT_FOLLOWLOCATION, 0L);            // a redirect could carry our credentials elsewhere
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);  // a proxy's own answer is not the server's
    if (options_.proxy) set(CURLOPT_PROXY, options_.proxy->c_str());
    if (request.fresh_connection) set(CURLOPT_FRESH_CONNECT, 1L);
    set(CURLOPT_ERRORBUFFER, transfer.detail);
    set(CURLOPT_SOCKOPTFUNCTION, OnConversationSocket);
    set(CURLOPT_SOCKOPTDATA, &transfer);
    if (request.tls) PrepareTls(transfer);
    for (const auto& [name, value] : request.http.headers) transfer.headers.Add(name, value);
    transfer.headers.AddLine("Expect:");
    set(CURLOPT_HTTPHEADER, transfer.headers.get());
    if (!request.http.bearer_token.empty()) {
      set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BEARER));
      set(CURLOPT_XOAUTH2_BEARER, request.http.bearer_token.Reveal().c_str());
    }
    SetMethod(transfer.handle, transfer.request.http, OnConversationSend, &transfer);
    set(CURLOPT_WRITEFUNCTION, OnConversationBody);
    set(CURLOPT_WRITEDATA, &transfer);
    set(CURLOPT_HEADERFUNCTION, OnConversationHeader);
    set(CURLOPT_HEADERDATA, &transfer);
  }

  static void PrepareTls(Conversation& transfer) {
    CURL* handle = transfer.handle;
    const TlsIdentity& tls = *transfer.request.tls;
    // The texts live as long as the identity, which the request holds: no copy.
    const auto blob = [handle](CURLoption option, const std::string& text) {
      if (text.empty()) return;
      curl_blob b{const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
      curl_easy_setopt(handle, option, &b);
    };
    blob(CURLOPT_CAINFO_BLOB, tls.ca_pem);
    blob(CURLOPT_SSLCERT_BLOB, tls.cert_pem);
    blob(CURLOPT_SSLKEY_BLOB, tls.key_pem.Reveal());
    curl_easy_setopt(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    if (tls.insecure) {
      curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 0L);
      curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (tls.server_name.empty()) return;
    // Ask for the other name, but connect where the URL points.
    const auto url = ParseUrl(transfer.request.http.url);
    if (!url.ok()) return;
    Url named = *url;
    named.host = tls.server_name;
    curl_easy_setopt(handle, CURLOPT_URL, named.ToString().c_str());  // copied by libcurl
    const bool v6 = url->host.find(':') != std::string::npos;
    transfer.connect_to.AddLine(fmt::format("{}:{}:{}:{}", tls.server_name, named.PortOrDefault(),
                                            v6 ? "[" + url->host + "]" : url->host,
                                            url->PortOrDefault())
                                    .c_str());
    curl_easy_setopt(handle, CURLOPT_CONNECT_TO, transfer.connect_to.get());
  }

  void Finished() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode outcome = message->data.result;
      char* opaque = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &opaque);
      auto& transfer = *reinterpret_cast<Conversation*>(opaque);
      End(transfer.number, OutcomeOf(transfer, outcome));
    }
  }

  static Status OutcomeOf(Conversation& transfer, CURLcode outcome) {
    if (outcome == CURLE_OK) {
      return GiveHead(transfer) ? Status::Ok() : Cancelled("given up by its reader");
    }
    const std::string what = Describe(transfer.request.http) + ": ";
    if (transfer.given_up) return Cancelled(what + "given up by its reader");
    if (!transfer.why_stopped.empty()) return ResourceExhausted(what + transfer.why_stopped);
    return FailureOf(outcome, what + (transfer.detail[0] != '\0' ? std::string(transfer.detail)
                                                                 : curl_easy_strerror(outcome)));
  }

  void EndSilent() {
    const auto now = Steady::now();
    std::vector<uint64_t> silent;
    for (const auto& [number, transfer] : transfers_) {
      const Duration limit = transfer->request.max_silence;
      if (limit > Duration::zero() && now - transfer->last_byte >= limit) silent.push_back(number);
    }
    for (const uint64_t number : silent) {
      const std::string what = Describe(transfers_.at(number)->request.http);
      End(number, DeadlineExceeded(what + ": nothing was heard for too long"));
    }
  }

  void End(uint64_t number, Status outcome) {
    const auto it = transfers_.find(number);
    if (it == transfers_.end()) return;
    const std::unique_ptr<Conversation> transfer = std::move(it->second);
    transfers_.erase(it);
    curl_multi_remove_handle(multi_, transfer->handle);
    curl_easy_cleanup(transfer->handle);
    transfer->exchange->OnEnd(std::move(outcome));
  }

  const MultiClientOptions options_;
  CURLM* const multi_;
  std::atomic<bool> stop_ = false;
  Mutex mutex_;
  uint64_t last_number_ COPPICE_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<Conversation>> to_start_ COPPICE_GUARDED_BY(mutex_);
  std::vector<uint64_t> to_cancel_ COPPICE_GUARDED_BY(mutex_);
  std::map<uint64_t, std::unique_ptr<Conversation>> transfers_;  // the thread's own
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<MultiClient>> MultiClient::Create(MultiClientOptions options) {
  TRY(InitCurl());
  CURLM* multi = curl_multi_init();
  if (multi == nullptr) return Internal("libcurl gave no multi handle");
  curl_multi_setopt(multi, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_MULTIPLEX));
  return std::unique_ptr<MultiClient>(std::make_unique<CurlMulti>(std::move(options), multi));
}

}  // namespace coppice::net
