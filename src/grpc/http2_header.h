// A header as nghttp2 takes it. Internal to this module.

#pragma once

#include <nghttp2/nghttp2.h>

#include <string_view>

namespace coppice::grpc {

// Its name outlives the frame, and its value too unless it is to be copied.
inline nghttp2_nv Header(std::string_view name, std::string_view value, bool keep_value = true) {
  const uint8_t flags = NGHTTP2_NV_FLAG_NO_COPY_NAME |
                        (keep_value ? NGHTTP2_NV_FLAG_NO_COPY_VALUE : NGHTTP2_NV_FLAG_NONE);
  return {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
          flags};
}

}  // namespace coppice::grpc
