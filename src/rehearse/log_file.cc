#include "rehearse/log_file.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace coppice::rehearse {
namespace {

constexpr size_t kHeaderBytes = 12;
constexpr size_t kMagicBytes = sizeof kLogMagic - 1;
constexpr int kLevel = 6;

void PutNumber(std::string& out, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

uint32_t GetNumber(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) {
    value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

uint32_t Crc(std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

void PutFrame(std::string& out, std::string_view lines) {
  uLongf size = compressBound(static_cast<uLong>(lines.size()));
  std::string packed(size, '\0');
  const int done = compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                             reinterpret_cast<const Bytef*>(lines.data()),
                             static_cast<uLong>(lines.size()), kLevel);
  CHECK(done == Z_OK);
  packed.resize(size);
  PutNumber(out, static_cast<uint32_t>(packed.size()));
  PutNumber(out, static_cast<uint32_t>(lines.size()));
  PutNumber(out, Crc(packed));
  out += packed;
}

void EachLine(std::string_view lines, const std::function<void(std::string_view)>& each) {
  while (!lines.empty()) {
    const size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    if (!line.empty()) each(line);
    if (end == std::string_view::npos) return;
    lines.remove_prefix(end + 1);
  }
}

Result<std::string> WholeFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound("cannot read " + path.string() + ": " + std::strerror(errno));
  std::stringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

std::vector<std::filesystem::path> LogFiles(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".coplog") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::string ToFrames(std::string_view lines) {
  constexpr size_t kUsualBytes = size_t{1} << 20;
  std::string out;
  while (!lines.empty()) {
    size_t cut = lines.size();
    if (cut > kUsualBytes) {
      const size_t end = lines.find('\n', kUsualBytes);
      cut = end == std::string_view::npos ? lines.size() : end + 1;
    }
    PutFrame(out, lines.substr(0, cut));
    lines.remove_prefix(cut);
  }
  return out;
}

Status ReadFrames(std::string_view bytes, const std::string& name,
                  const std::function<void(std::string_view line)>& each,
                  std::vector<std::string>& notes) {
  if (!bytes.starts_with(kLogMagic)) return InvalidArgument(name + " is not a log of coppice");
  size_t at = kMagicBytes;
  const auto note = [&](const std::string& what) {
    notes.push_back(
        fmt::format("{}: {} at byte {}; what is behind it is not read", name, what, at));
    return Status::Ok();
  };
  std::string lines;
  while (at < bytes.size()) {
    if (bytes.size() - at < kHeaderBytes) return note("the file is cut off");
    const uint32_t packed_size = GetNumber(bytes.substr(at));
    const uint32_t size = GetNumber(bytes.substr(at + 4));
    const uint32_t crc = GetNumber(bytes.substr(at + 8));
    if (packed_size > kMostFrameBytes || size > kMostFrameBytes) return note("a damaged frame");
    if (bytes.size() - at - kHeaderBytes < packed_size) return note("the file is cut off");
    const std::string_view packed = bytes.substr(at + kHeaderBytes, packed_size);
    if (Crc(packed) != crc) return note("a damaged frame");
    lines.resize(size);
    uLongf got = size;
    const int done = uncompress(reinterpret_cast<Bytef*>(lines.data()), &got,
                                reinterpret_cast<const Bytef*>(packed.data()),
                                static_cast<uLong>(packed.size()));
    if (done != Z_OK || got != size) return note("a damaged frame");
    EachLine(lines, each);
    at += kHeaderBytes + packed_size;
  }
  return Status::Ok();
}

Status ReadLog(const std::string& path, const std::function<void(std::string_view line)>& each,
               std::vector<std::string>& notes) {
  if (!std::filesystem::is_directory(path)) {
    return ReadFrames(TRY(WholeFile(path)), path, each, notes);
  }
  const auto files = LogFiles(path);
  if (files.empty()) return NotFound(path + " has no file *.coplog");
  for (const auto& file : files) {
    const auto bytes = WholeFile(file);
    const Status read =
        bytes.ok() ? ReadFrames(*bytes, file.string(), each, notes) : bytes.status();
    // The next one begins with everything, so that a bad one costs its own time only.
    if (!read.ok()) notes.push_back(read.message());
  }
  return Status::Ok();
}

Result<std::shared_ptr<LogWriter>> LogWriter::Open(Options options, Workers& workers,
                                                   const Log& log) {
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  if (!std::filesystem::is_directory(options.directory)) {
    return InvalidArgument("cannot write to " + options.directory + ": " + error.message());
  }
  return std::shared_ptr<LogWriter>(new LogWriter(std::move(options), workers, log));
}

bool LogWriter::WantsSnapshot() const {
  const MutexLock lock(mutex_);
  return wants_snapshot_;
}

bool LogWriter::Write(std::string lines, bool first, TimePoint at) {
  {
    const MutexLock lock(mutex_);
    if (waiting_bytes_ + lines.size() > options_.max_waiting_bytes) {
      wants_snapshot_ = true;
      return false;
    }
    if (first) wants_snapshot_ = false;
    waiting_bytes_ += lines.size();
    waiting_.push_back({std::move(lines), first, at});
    if (draining_) return true;
    draining_ = true;
  }
  const Status submitted = workers_.Submit([self = shared_from_this()] { self->Drain(); });
  if (submitted.ok()) return true;
  const MutexLock lock(mutex_);
  draining_ = false;
  waiting_.clear();
  waiting_bytes_ = 0;
  wants_snapshot_ = true;
  return false;
}

void LogWriter::Drain() {
  for (;;) {
    Piece piece;
    {
      const MutexLock lock(mutex_);
      if (waiting_.empty()) {
        draining_ = false;
        return;
      }
      piece = std::move(waiting_.front());
      waiting_.pop_front();
      waiting_bytes_ -= piece.lines.size();
    }
    if (const Status put = Put(piece); !put.ok()) {
      log_.Warning("the recording cannot be written", {{"error", put}});
      const MutexLock lock(mutex_);
      wants_snapshot_ = true;
    }
  }
}

Status LogWriter::Put(const Piece& piece) {
  std::string bytes = ToFrames(piece.lines);
  if (piece.first) {
    file_ = options_.directory + "/" +
            fmt::format(
                "{:%Y%m%dT%H%M%SZ}-{:04}.coplog",
                fmt::gmtime(std::chrono::system_clock::to_time_t(
                    std::chrono::time_point_cast<std::chrono::system_clock::duration>(piece.at))),
                ++file_number_);
    bytes.insert(0, kLogMagic);
    file_bytes_ = 0;
  }
  if (file_.empty()) return FailedPrecondition("the recording does not begin with a snapshot");
  std::ofstream file(file_, std::ios::binary | (piece.first ? std::ios::trunc : std::ios::app));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) return Unavailable("cannot write " + file_);
  file_bytes_ += bytes.size();
  if (file_bytes_ >= options_.max_file_bytes) {
    const MutexLock lock(mutex_);
    wants_snapshot_ = true;
  }
  if (piece.first) RemoveOldest();
  return Status::Ok();
}

void LogWriter::RemoveOldest() {
  const auto files = LogFiles(options_.directory);
  std::error_code error;
  size_t total = 0;
  for (size_t i = files.size(); i-- > 0;) {  // the newest first
    total += std::filesystem::file_size(files[i], error);
    if (total > options_.max_total_bytes && files[i].string() != file_) {
      std::filesystem::remove(files[i], error);
    }
  }
}

}  // namespace coppice::rehearse
