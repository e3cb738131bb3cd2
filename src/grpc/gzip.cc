#include "grpc/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

namespace coppice::grpc {
namespace {

constexpr int kGzipWindow = 15 + 16;  // the largest window, and gzip's header and nothing else
constexpr size_t kFirstPiece = 4UL << 10;

class Inflater {
 public:
  Inflater() { ready_ = inflateInit2(&stream_, kGzipWindow) == Z_OK; }
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool ready() const { return ready_; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
  bool ready_ = false;
};

}  // namespace

Result<std::string> Gunzip(std::string_view bytes, size_t limit) {
  Inflater inflater;
  if (!inflater.ready()) return ResourceExhausted("no memory to decompress a message");
  if (bytes.size() > std::numeric_limits<uInt>::max())
    return ResourceExhausted("a compressed message of " + std::to_string(bytes.size()) + " bytes");
  z_stream& stream = inflater.stream();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  size_t made = 0;
  for (;;) {
    if (made == out.size()) {
      // One byte more than may be: that it is needed is how we learn that there is too much.
      out.resize(std::min(std::max({kFirstPiece, 2 * made, 2 * bytes.size()}), limit + 1));
    }
    const size_t room = std::min<size_t>(out.size() - made, std::numeric_limits<uInt>::max());
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + made);
    stream.avail_out = static_cast<uInt>(room);
    const int outcome = inflate(&stream, Z_NO_FLUSH);
    made += room - stream.avail_out;
    if (made > limit) {
      return ResourceExhausted("a compressed message holds more than the " + std::to_string(limit) +
                               " bytes that may be taken");
    }
    if (outcome == Z_STREAM_END) {
      if (stream.avail_in == 0) break;
      if (inflateReset(&stream) != Z_OK) return Internal("a message is not gzip");
    } else if (outcome != Z_OK) {
      return Internal(outcome == Z_BUF_ERROR ? "a gzip message ends before its end"
                                             : "a message is not gzip");
    }
  }
  out.resize(made);
  return out;
}

}  // namespace coppice::grpc
