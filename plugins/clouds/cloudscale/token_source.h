// Where the API token comes from: a fixed text, or a file that somebody may rotate (a mounted
// Secret).

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <string>

#include "base/secret.h"
#include "base/status.h"

namespace coppice::clouds::cloudscale {

class TokenSource {
 public:
  static TokenSource Fixed(Secret token) { return TokenSource(std::move(token), ""); }
  static TokenSource File(std::string path) { return TokenSource(Secret(), std::move(path)); }
  TokenSource(TokenSource&& other) noexcept
      : token_(std::move(other.token_)), path_(std::move(other.path_)) {}

  // The token of this moment. A file is looked at each time and read when it has changed; while it
  // cannot be read, the last good token counts, for a rotation is not atomic everywhere. Any
  // thread.
  Result<Secret> Get();

 private:
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    int64_t size = -1;
    int64_t modified_ns = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };

  TokenSource(Secret token, std::string path) : token_(std::move(token)), path_(std::move(path)) {}

  std::mutex mutex_;
  Secret token_;
  std::string path_;  // "": fixed
  Stamp stamp_;
};

}  // namespace coppice::clouds::cloudscale
