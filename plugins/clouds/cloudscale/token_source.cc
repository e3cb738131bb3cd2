#include "plugins/clouds/cloudscale/token_source.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/strings.h"

namespace coppice::clouds::cloudscale {

constexpr std::streamsize kMaxTokenBytes = 4096;

Result<Secret> TokenSource::Get() {
  const std::lock_guard lock(mutex_);
  if (path_.empty()) return token_;
  // stat follows symbolic links, so the swap of Kubernetes' ..data shows as another inode.
  struct stat info{};
  if (::stat(path_.c_str(), &info) != 0) {
    if (!token_.empty()) return token_;
    return FailedPrecondition(
        fmt::format("the API token cannot be read from {}: {}", path_, std::strerror(errno)));
  }
  const Stamp stamp{info.st_dev, info.st_ino, info.st_size,
                    int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
  if (stamp == stamp_ && !token_.empty()) return token_;
  std::ifstream file(path_, std::ios::binary);
  std::string text(kMaxTokenBytes, '\0');
  file.read(text.data(), kMaxTokenBytes);
  text.resize(static_cast<size_t>(file.gcount()));
  const std::string_view token = Trim(text);
  if (token.empty()) {
    if (!token_.empty()) return token_;
    return FailedPrecondition(fmt::format("the API token file {} is empty", path_));
  }
  token_ = Secret(std::string(token));
  stamp_ = stamp;
  return token_;
}

}  // namespace coppice::clouds::cloudscale
