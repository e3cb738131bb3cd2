#include "base/file_signature.h"

#include <sys/stat.h>

#include <cstdint>

namespace coppice {

// Equal times at equal size within one tick of the file system are told apart by the inode, for a
// tool that replaces a file makes a new one.
std::string FileSignature(const std::vector<std::string>& paths) {
  std::string signature;
  for (const std::string& path : paths) {
    struct stat info{};
    if (stat(path.c_str(), &info) != 0) {
      signature += "absent;";
      continue;
    }
    for (const auto number :
         {static_cast<int64_t>(info.st_dev), static_cast<int64_t>(info.st_ino),
          static_cast<int64_t>(info.st_size), static_cast<int64_t>(info.st_mtim.tv_sec),
          static_cast<int64_t>(info.st_mtim.tv_nsec), static_cast<int64_t>(info.st_ctim.tv_sec),
          static_cast<int64_t>(info.st_ctim.tv_nsec)}) {
      signature += std::to_string(number) + ",";
    }
    signature += ";";
  }
  return signature;
}

}  // namespace coppice
