// The log of a recorded cluster as files: lines of JSON (recorder.h has them) in compressed frames.
//
// A file is "coplog1\n" and frames: compressed size, size, CRC-32 of the compressed bytes (32 bits
// each, little-endian), then the bytes as zlib has them. A frame holds whole lines. Every file of a
// directory begins with a snapshot of everything, so that old ones may go: the writer starts a new
// file when one is large enough and removes the oldest when all together are too large.
//
// A reader takes what is whole: a file that was cut off, or damaged from some frame on, is read up
// to there, and the notes say so.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "base/pool.h"
#include "base/status.h"

namespace coppice::rehearse {

inline constexpr char kLogMagic[] = "coplog1\n";
inline constexpr size_t kMostFrameBytes = size_t{64} << 20;  // of lines, and compressed

// `lines` as frames, without the magic: each of at most kMostFrameBytes, cut between lines.
std::string ToFrames(std::string_view lines);

// Calls `each` for every line. What could not be read is a sentence in `notes`; a failure means
// that there is no log at all. `name` is for the notes.
Status ReadFrames(std::string_view bytes, const std::string& name,
                  const std::function<void(std::string_view line)>& each,
                  std::vector<std::string>& notes);
// A file, or the files of a directory in the order of their names.
Status ReadLog(const std::string& path, const std::function<void(std::string_view line)>& each,
               std::vector<std::string>& notes);

// Lines go to disk on a worker, in the order in which they came. Any one thread.
class LogWriter : public std::enable_shared_from_this<LogWriter> {
 public:
  struct Options {
    std::string directory;  // made if it is not there
    size_t max_file_bytes = size_t{32} << 20;
    size_t max_total_bytes = size_t{512} << 20;  // the newest file stays, whatever its size
    size_t max_waiting_bytes = size_t{256} << 20;
  };
  // `workers` and `log` outlive the writer and what it has under way.
  static Result<std::shared_ptr<LogWriter>> Open(Options options, Workers& workers, const Log& log);

  // The current file is large enough, or there is none: write a snapshot next, with `first`.
  bool WantsSnapshot() const;
  // `first`: these lines begin a new file, named after `at`. False: the disk does not keep up and
  // they were dropped; a snapshot is wanted next.
  bool Write(std::string lines, bool first, TimePoint at);

 private:
  struct Piece {
    std::string lines;
    bool first = false;
    TimePoint at;
  };
  LogWriter(Options options, Workers& workers, const Log& log)
      : options_(std::move(options)), workers_(workers), log_(log) {}
  void Drain();
  Status Put(const Piece& piece);
  void RemoveOldest();

  const Options options_;
  Workers& workers_;
  const Log& log_;
  mutable Mutex mutex_;
  std::deque<Piece> waiting_ COPPICE_GUARDED_BY(mutex_);
  size_t waiting_bytes_ COPPICE_GUARDED_BY(mutex_) = 0;
  bool draining_ COPPICE_GUARDED_BY(mutex_) = false;
  bool wants_snapshot_ COPPICE_GUARDED_BY(mutex_) = true;
  // Of the drain alone.
  size_t file_bytes_ = 0;
  int file_number_ = 0;
  std::string file_;
};

}  // namespace coppice::rehearse
