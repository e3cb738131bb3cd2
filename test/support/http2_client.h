// An HTTP/2 client without a socket, for tests of a session: it can say what a library's client
// never would. Also frames as bytes, for what even nghttp2's client does not say.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grpc/http2_session.h"
#include "test/support/must.h"

namespace coppice::grpc {

inline std::string Framed(std::string_view message, char compressed = 0) {
  std::string framed(1, compressed);
  for (int shift = 24; shift >= 0; shift -= 8)
    framed += static_cast<char>(message.size() >> shift & 0xff);
  return framed.append(message);
}

struct Somebody final : Caller {
  std::vector<std::string> Names() const override { return {"somebody"}; }
  std::string Address() const override { return "here"; }
};

// A client made of nghttp2 alone, so that it can say anything.
class Http2Client {
 public:
  struct Stream {
    std::map<std::string, std::string> headers;
    std::string body;
    bool closed = false;
    uint32_t error = 0;  // of HTTP/2, when closed
    std::string to_send;
    bool hold_open = false;
  };

  explicit Http2Client(Http2Session& server, std::vector<nghttp2_settings_entry> settings = {})
      : server_(server) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks,
        [](nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
           const uint8_t* value, size_t value_size, uint8_t, void* me) {
          static_cast<Http2Client*>(me)->streams[frame->hd.stream_id].headers.insert_or_assign(
              std::string(reinterpret_cast<const char*>(name), name_size),
              std::string(reinterpret_cast<const char*>(value), value_size));
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks,
        [](nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size, void* me) {
          static_cast<Http2Client*>(me)->streams[id].body.append(
              reinterpret_cast<const char*>(data), size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        callbacks, [](nghttp2_session*, int32_t id, uint32_t error, void* me) {
          static_cast<Http2Client*>(me)->streams[id].closed = true;
          static_cast<Http2Client*>(me)->streams[id].error = error;
          return 0;
        });
    nghttp2_session_client_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  }
  ~Http2Client() { nghttp2_session_del(session_); }

  // `hold_open`: the request goes on after the body.
  Stream& Request(const std::string& path, const std::string& body,
                  std::vector<std::pair<std::string, std::string>> more = {},
                  bool hold_open = false) {
    std::vector<std::pair<std::string, std::string>> headers{{":method", "POST"},
                                                             {":scheme", "https"},
                                                             {":path", path},
                                                             {":authority", "x"},
                                                             {"content-type", "application/grpc"},
                                                             {"te", "trailers"}};
    for (const auto& [name, value] : more) {
      std::erase_if(headers, [&, &key = name](const auto& h) { return h.first == key; });
      headers.emplace_back(name, value);
    }
    std::ranges::stable_partition(headers, [](const auto& h) { return h.first[0] == ':'; });
    std::vector<nghttp2_nv> raw;
    for (auto& [name, value] : headers) {
      raw.push_back({reinterpret_cast<uint8_t*>(name.data()),
                     reinterpret_cast<uint8_t*>(value.data()), name.size(), value.size(), 0});
    }
    const int32_t next = static_cast<int32_t>(nghttp2_session_get_next_stream_id(session_));
    Stream& stream = streams[next];
    stream.to_send = body;
    stream.hold_open = hold_open;
    nghttp2_data_provider provider{};
    provider.source.ptr = &stream;
    provider.read_callback = [](nghttp2_session*, int32_t, uint8_t* out, size_t size,
                                uint32_t* flags, nghttp2_data_source* source, void*) -> ssize_t {
      auto& sending = *static_cast<Stream*>(source->ptr);
      const size_t n = std::min(size, sending.to_send.size());
      std::copy_n(sending.to_send.begin(), n, out);
      sending.to_send.erase(0, n);
      if (sending.to_send.empty() && !sending.hold_open) *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (n == 0 && sending.hold_open) return NGHTTP2_ERR_DEFERRED;
      return static_cast<ssize_t>(n);
    };
    nghttp2_submit_request(session_, nullptr, raw.data(), raw.size(), &provider, nullptr);
    Exchange();
    return stream;
  }

  // More of a request that was held open.
  void Write(Stream& stream, std::string_view bytes) {
    stream.to_send += bytes;
    Resume(stream);
  }
  // Ends a request that was held open.
  void End(Stream& stream) {
    stream.hold_open = false;
    Resume(stream);
  }
  void Reset(Stream& stream) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, IdOf(stream), NGHTTP2_CANCEL);
    Exchange();
  }
  void Ping() {
    nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
    Exchange();
  }

  void Exchange() {
    for (bool moved = true; moved;) {
      moved = false;
      const uint8_t* data = nullptr;
      for (ssize_t n = 0; (n = nghttp2_session_mem_send(session_, &data)) > 0; moved = true) {
        EXPECT_OK(server_.Receive({reinterpret_cast<const char*>(data), static_cast<size_t>(n)}));
      }
      std::string out;
      if (server_.Pull(out, 1 << 16)) {
        moved = true;
        nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(out.data()),
                                 out.size());
      }
    }
  }

  std::map<int32_t, Stream> streams;

 private:
  int32_t IdOf(const Stream& stream) const {
    for (const auto& [id, one] : streams) {
      if (&one == &stream) return id;
    }
    return -1;
  }
  void Resume(Stream& stream) {
    nghttp2_session_resume_data(session_, IdOf(stream));
    Exchange();
  }

  Http2Session& server_;
  nghttp2_session* session_ = nullptr;
};

// A frame as it is on the wire.
inline std::string Frame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload) {
  std::string frame;
  for (int shift = 16; shift >= 0; shift -= 8)
    frame += static_cast<char>(payload.size() >> shift & 0xff);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(stream >> shift & 0xff);
  return frame.append(payload);
}

inline std::string Number(uint32_t n) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(n >> shift & 0xff);
  return bytes;
}

// The headers of a call, as literals that leave no trace in the table.
inline std::string CallHeaders(std::string_view path) {
  const auto literal = [](std::string_view name, std::string_view value) {
    std::string field(1, '\0');
    field += static_cast<char>(name.size());
    field += name;
    field += static_cast<char>(value.size());
    return field.append(value);
  };
  return literal(":method", "POST") + literal(":scheme", "https") + literal(":path", path) +
         literal(":authority", "x") + literal("content-type", "application/grpc");
}

// What a server sent, taken apart again.
struct FrameSeen {
  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;
  std::string payload;
};

inline std::vector<FrameSeen> FramesOf(std::string_view bytes) {
  const auto number = [&](size_t at, size_t size) {
    uint32_t n = 0;
    for (size_t i = 0; i < size; ++i) n = n << 8 | static_cast<unsigned char>(bytes[at + i]);
    return n;
  };
  std::vector<FrameSeen> frames;
  while (bytes.size() >= 9 && bytes.size() >= 9 + number(0, 3)) {
    const size_t length = number(0, 3);
    frames.push_back({static_cast<uint8_t>(bytes[3]), static_cast<uint8_t>(bytes[4]), number(5, 4),
                      std::string(bytes.substr(9, length))});
    bytes.remove_prefix(9 + length);
  }
  return frames;
}

inline const std::string kHello =
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(NGHTTP2_SETTINGS, 0, 0, "");

}  // namespace coppice::grpc
