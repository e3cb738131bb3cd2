#include "rpc/priority_file.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "base/file_signature.h"

namespace coppice::rpc {
namespace {

constexpr std::streamoff kMaxBytes = 1 << 20;  // as much as a ConfigMap may hold

}  // namespace

Result<std::unique_ptr<PriorityFile>> PriorityFile::Open(std::string path, const Log& log) {
  std::unique_ptr<PriorityFile> file(new PriorityFile(std::move(path), log));
  file->seen_ = FileSignature({file->path_});
  file->text_ = TRY(file->Read());
  return file;
}

Result<std::string> PriorityFile::Read() const {
  std::ifstream in(path_, std::ios::binary | std::ios::ate);
  if (!in) return NotFound("--priority-file=" + path_ + " cannot be opened");
  if (in.tellg() > kMaxBytes)
    return InvalidArgument("--priority-file=" + path_ + " is larger than 1 MiB");
  in.seekg(0);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::string PriorityFile::Text() {
  std::string signature = FileSignature({path_});
  if (signature == seen_) return text_;
  seen_ = std::move(signature);
  auto read = Read();
  if (!read.ok()) {
    log_.Error("the priorities changed on disk and cannot be read, the old ones stay in force",
               {{"error", read.status().message()}});
    return text_;
  }
  text_ = std::move(read).value();
  log_.Info("priorities read again", {{"file", path_}});
  return text_;
}

}  // namespace coppice::rpc
