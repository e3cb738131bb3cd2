// CuttingProxy: a wire between two processes with scissors. Bytes pass as they are, TLS and all.

#pragma once

#include <atomic>
#include <list>
#include <mutex>
#include <thread>

namespace coppice::test {

class CuttingProxy {
 public:
  explicit CuttingProxy(int to_port);  // on loopback
  ~CuttingProxy();
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  int port() const { return port_; }
  // Ends every connection; new ones are let through.
  void Cut();
  // From now on nobody gets through; existing connections end.
  void Close();
  void Open() { open_ = true; }
  size_t accepted() const { return accepted_; }

 private:
  struct Pair {
    int near = -1;
    int far = -1;
    std::thread there;
    std::thread back;
  };
  void Accept();

  const int to_port_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> open_ = true;
  std::atomic<size_t> accepted_ = 0;
  std::mutex mutex_;
  std::list<Pair> pairs_;  // until the end: threads are joined there
  std::thread acceptor_;
};

}  // namespace coppice::test
