#include "batch/conf_file.h"

#include <fstream>
#include <sstream>
#include <utility>

#include "base/file_signature.h"
#include "base/strings.h"

namespace coppice::batch {
namespace {

constexpr Duration kLookEvery = std::chrono::seconds(1);

std::string_view WithoutSpace(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace

ConfFile::ConfFile(std::string path, Check check, const Log& log)
    : path_(std::move(path)), check_(std::move(check)), log_(log) {}

Result<Conf> ConfFile::Read() const {
  std::ifstream file(path_, std::ios::binary);
  if (!file) return NotFound("cannot open " + path_);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return Unavailable("cannot read " + path_);
  Conf conf = TRY(ParseConf(WithoutSpace(text.str())).Context(path_));
  TRY(check_(conf).Context(path_));
  return conf;
}

Status ConfFile::Open(bool default_allowed) {
  conf_ = ParseConf(WithoutSpace(DefaultConf())).value();
  if (path_.empty()) {
    if (default_allowed) return Status::Ok();
    return FailedPrecondition(
        "--scheduler-conf is empty and --disable-default-scheduler-config is set: there is no "
        "configuration");
  }
  signature_ = FileSignature({path_});
  auto read = Read();
  if (read.ok()) {
    conf_ = *std::move(read);
    return Status::Ok();
  }
  if (!default_allowed) return read.status();
  trouble_ = read.status().message();
  log_.Error("the scheduler's configuration cannot be used; the built-in default is in force",
             {{"error", read.status()}});
  return Status::Ok();
}

bool ConfFile::Look(TimePoint now) {
  if (path_.empty() || (looked_ && now < Later(*looked_, kLookEvery))) return false;
  looked_ = now;
  std::string signature = FileSignature({path_});
  // What it refers to may be mended as well as itself.
  if (signature == signature_ && trouble_.empty()) return false;
  signature_ = std::move(signature);
  auto read = Read();
  if (!read.ok()) {
    if (trouble_ == read.status().message()) return false;
    trouble_ = read.status().message();
    log_.Error("the scheduler's configuration has changed and cannot be used; the one before stays",
               {{"error", read.status()}});
    return false;
  }
  trouble_.clear();
  conf_ = *std::move(read);
  log_.Info("the scheduler's configuration has changed", {{"file", path_}});
  return true;
}

}  // namespace coppice::batch
