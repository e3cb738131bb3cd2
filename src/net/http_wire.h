// A connection's bytes, plain or encrypted, on Asio. Private to http_server.cc: every file that
// includes Asio and Beast costs ten seconds, so what is here is a header and compiled once.

#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <string_view>
#include <utility>

namespace coppice::net::http1 {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using tcp = asio::ip::tcp;

// Failures as values: a peer that goes away is not an exception.
inline constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);

// The seam keeps everything above it from being compiled
// twice.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual beast::tcp_stream& tcp() = 0;
  virtual asio::awaitable<bool> Handshake() = 0;
  virtual asio::awaitable<size_t> Read(asio::mutable_buffer space) = 0;  // 0: end, or failure
  virtual asio::awaitable<bool> Write(std::string_view bytes) = 0;
  virtual asio::awaitable<void> SayGoodbye() = 0;
};

class PlainWire final : public Wire {
 public:
  explicit PlainWire(tcp::socket socket) : stream_(std::move(socket)) {}
  beast::tcp_stream& tcp() override { return stream_; }
  asio::awaitable<bool> Handshake() override { co_return true; }
  asio::awaitable<size_t> Read(asio::mutable_buffer space) override {
    const auto [problem, length] = co_await stream_.async_read_some(space, kAsTuple);
    co_return problem ? 0 : length;
  }
  asio::awaitable<bool> Write(std::string_view bytes) override {
    const asio::const_buffer buffer = asio::buffer(bytes);
    const auto [problem, length] = co_await asio::async_write(stream_, buffer, kAsTuple);
    co_return !problem;
  }
  asio::awaitable<void> SayGoodbye() override { co_return; }

 private:
  beast::tcp_stream stream_;
};

class TlsWire final : public Wire {
 public:
  TlsWire(tcp::socket socket, asio::ssl::context& context) : stream_(std::move(socket), context) {}
  beast::tcp_stream& tcp() override { return stream_.next_layer(); }
  asio::awaitable<bool> Handshake() override {
    const auto [problem] =
        co_await stream_.async_handshake(asio::ssl::stream_base::server, kAsTuple);
    co_return !problem;
  }
  asio::awaitable<size_t> Read(asio::mutable_buffer space) override {
    const auto [problem, length] = co_await stream_.async_read_some(space, kAsTuple);
    co_return problem ? 0 : length;
  }
  asio::awaitable<bool> Write(std::string_view bytes) override {
    const asio::const_buffer buffer = asio::buffer(bytes);
    const auto [problem, length] = co_await asio::async_write(stream_, buffer, kAsTuple);
    co_return !problem;
  }
  asio::awaitable<void> SayGoodbye() override { co_await stream_.async_shutdown(kAsTuple); }

 private:
  asio::ssl::stream<beast::tcp_stream> stream_;
};

}  // namespace coppice::net::http1
