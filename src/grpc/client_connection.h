// One connection of a client: its socket, its HTTP/2 session and the thread that serves them. Made
// for one channel and one set of certificates; when it ends, for whatever reason, the channel makes
// another. Internal to this module.
//
// Any thread may call. The thread is there from the first call to the end, and is waited for by the
// destructor; it may then be in the middle of a look-up of a name, which nothing can interrupt.

#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "grpc/client_session.h"
#include "grpc/credentials.h"
#include "grpc/wire.h"

namespace coppice::grpc {

class ClientConnection {
 public:
  struct Options {
    std::string address;                          // "host:port" or "unix:/path"
    std::string server_name;                      // "": the host in `address`
    std::shared_ptr<const TlsMaterial> material;  // null: plaintext
    size_t max_message_bytes = 64UL << 20;
  };
  explicit ClientConnection(Options options);
  ~ClientConnection();  // calls in progress end with UNAVAILABLE
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  // False: the next call needs another connection.
  bool takes_calls() const;
  // Waits for the answer, at most `left` of real time.
  CallEnd Call(const std::string& method, std::string_view request, std::optional<Duration> left);

 private:
  using Real = std::chrono::steady_clock;

  struct Waiting {
    ClientCall call;
    int32_t number = 0;  // of the session; 0: not begun. The thread's.
    Mutex mutex;         // may be taken with mutex_ held, never the other way round
    std::optional<CallEnd> end COPPICE_GUARDED_BY(mutex);
    bool gone COPPICE_GUARDED_BY(mutex) = false;  // nobody waits any more
    std::condition_variable ended;
  };

  void Wake();

  // ---- The thread's.
  void Run();
  Status Serve();
  Status Connect();
  Status ConnectTo(int family, const void* address, size_t size, Real::time_point until);
  Status Secure(Real::time_point until);
  // Waits until the socket is ready; not OK: it is late, or we are to stop.
  Status WaitFor(short events, Real::time_point until);
  bool TakeOrders();  // false: stop
  Status ReadAll();
  Status WriteAll();
  Status KeepAlive(Real::time_point now, int& wait_ms);
  static void Tell(Waiting& waiting, CallEnd end);

  const Options options_;
  Socket wake_;  // an eventfd
  Wire wire_;
  ClientSession session_;
  std::string out_;
  size_t sent_ = 0;  // of out_
  bool blocked_ = false;
  Real::time_point heard_{};
  bool pinged_ = false;

  mutable Mutex mutex_;
  std::deque<std::shared_ptr<Waiting>> new_ COPPICE_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Waiting>> given_up_ COPPICE_GUARDED_BY(mutex_);
  bool stop_ COPPICE_GUARDED_BY(mutex_) = false;
  bool connected_ COPPICE_GUARDED_BY(mutex_) = false;
  bool refused_ COPPICE_GUARDED_BY(mutex_) =
      false;  // by what will not change in a moment: another attempt is of no use
  bool takes_calls_ COPPICE_GUARDED_BY(mutex_) = true;
  std::optional<Status> over_ COPPICE_GUARDED_BY(mutex_);  // why it has ended

  std::thread thread_;  // last: it uses all of this
};

}  // namespace coppice::grpc
