// ConfFile: volcano-scheduler.conf on disk, read again when it changes. What is wrong with it is
// told once, and the configuration before stays in force; before the first good one that is the
// built-in default. While the file cannot be used every look reads it: it may refer to others, such
// as certificates, that are not there yet.
//
// Decision thread; looking costs one stat, at most once a second.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "batch/conf.h"

namespace coppice::batch {

class ConfFile {
 public:
  // Whether the configuration can be used at all: its plug-ins exist, and can be made.
  using Check = std::function<Status(const Conf& conf)>;

  // "": there is no file, and the default counts.
  ConfFile(std::string path, Check check, const Log& log);

  // The first look. A failure: nothing is in force, because without a usable file there is to be
  // none (`default_allowed` is false).
  Status Open(bool default_allowed);
  // In force until the file changes: for who has no file.
  void Use(Conf conf) { conf_ = std::move(conf); }
  // In force now. True if another one than at the last look.
  bool Look(TimePoint now);
  const Conf& conf() const { return conf_; }
  // "" unless the file as it is now cannot be used.
  const std::string& trouble() const { return trouble_; }

 private:
  Result<Conf> Read() const;

  const std::string path_;
  const Check check_;
  const Log& log_;
  Conf conf_;
  std::string signature_;
  std::string trouble_;
  std::optional<TimePoint> looked_;
};

}  // namespace coppice::batch
