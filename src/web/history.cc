#include "web/history.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "report/json_out.h"

namespace coppice::web {
namespace {

void PackNumber(uint64_t number, std::string& out) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}

bool UnpackNumber(std::string_view& bytes, uint64_t& number) {
  number = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    number |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

void PackText(std::string_view text, std::string& out) {
  PackNumber(text.size(), out);
  out += text;
}

bool UnpackText(std::string_view& bytes, std::string& text) {
  uint64_t length = 0;
  if (!UnpackNumber(bytes, length) || length > bytes.size()) return false;
  text = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return true;
}

std::string Compress(std::string_view text) {
  uLongf length = compressBound(text.size());
  std::string out(length, '\0');
  CHECK(compress2(reinterpret_cast<Bytef*>(out.data()), &length,
                  reinterpret_cast<const Bytef*>(text.data()), text.size(), 5) == Z_OK);
  out.resize(length);
  out.shrink_to_fit();
  return out;
}

std::string Expand(std::string_view text, size_t length) {
  std::string out(length, '\0');
  uLongf got = length;
  CHECK(uncompress(reinterpret_cast<Bytef*>(out.data()), &got,
                   reinterpret_cast<const Bytef*>(text.data()), text.size()) == Z_OK);
  return out;
}

}  // namespace

void Pack(const Delta& delta, TimePoint at, std::string& out) {
  PackNumber(static_cast<uint64_t>(at.time_since_epoch().count()), out);
  PackText(delta.set.total, out);
  for (size_t i = 0; i < kSectionNames.size(); ++i) {
    PackNumber(delta.set.sections[i].size(), out);
    for (const auto& [name, json] : delta.set.sections[i]) {
      PackText(name, out);
      PackText(json, out);
    }
    PackNumber(delta.gone[i].size(), out);
    for (const std::string& name : delta.gone[i]) PackText(name, out);
  }
}

Result<Delta> Unpack(std::string_view& bytes, TimePoint& at) {
  Delta delta;
  uint64_t number = 0;
  const auto bad = [] { return InvalidArgument("a delta ends too early"); };
  if (!UnpackNumber(bytes, number)) return bad();
  at = TimePoint(Duration(static_cast<int64_t>(number)));
  if (!UnpackText(bytes, delta.set.total)) return bad();
  for (size_t i = 0; i < kSectionNames.size(); ++i) {
    if (!UnpackNumber(bytes, number)) return bad();
    for (; number > 0; --number) {
      std::string name;
      std::string json;
      if (!UnpackText(bytes, name) || !UnpackText(bytes, json)) return bad();
      delta.set.sections[i][std::move(name)] = std::move(json);
    }
    if (!UnpackNumber(bytes, number)) return bad();
    for (; number > 0; --number) {
      std::string name;
      if (!UnpackText(bytes, name)) return bad();
      delta.gone[i].push_back(std::move(name));
    }
  }
  return delta;
}

void History::Count(const Segment& segment, bool add) {
  const size_t size = segment.text.capacity() + sizeof(Segment);
  bytes_ = add ? bytes_ + size : bytes_ - size;
}

void History::Close(Segment& segment) {
  segment.text_bytes = segment.text.size();
  segment.text = Compress(segment.text);
  segment.closed = true;
}

void History::Forget(TimePoint now) {
  while (!samples_.empty() && samples_.front().at < now - options_.keep) samples_.pop_front();
  while (segments_.size() > 1 &&
         (segments_[1].from < now - options_.keep ||
          bytes_ + samples_.size() * sizeof(Sample) > options_.most_bytes)) {
    Count(segments_.front(), false);
    segments_.pop_front();
  }
}

// Where a segment that stays has deltas of later, the one that begins now hides them (At).
void History::GoBackTo(TimePoint now) {
  while (!samples_.empty() && samples_.back().at > now - options_.step) samples_.pop_back();
  while (!segments_.empty() && segments_.back().from >= now) {
    Count(segments_.back(), false);
    segments_.pop_back();
  }
}

void History::Add(const Picture& picture, const Sample& sample) {
  const bool back = !samples_.empty() && sample.at < samples_.back().at - options_.step;
  if (back) GoBackTo(sample.at);
  if (!samples_.empty() && sample.at < samples_.back().at + options_.step) return;
  samples_.push_back(sample);
  const bool anew =
      back || segments_.empty() || sample.at >= segments_.back().from + options_.segment;
  if (anew) {
    if (!segments_.empty() && !segments_.back().closed) {
      Count(segments_.back(), false);
      Close(segments_.back());
      Count(segments_.back(), true);
    }
    segments_.push_back({.from = sample.at});
    Count(segments_.back(), true);
    last_ = Picture();
  }
  Segment& segment = segments_.back();
  Count(segment, false);
  Pack(Difference(last_, picture), sample.at, segment.text);
  Count(segment, true);
  last_ = picture;
  Forget(sample.at);
}

std::optional<TimePoint> History::begin() const {
  if (segments_.empty()) return std::nullopt;
  return segments_.front().from;
}

std::optional<History::Moment> History::At(TimePoint when) const {
  if (segments_.empty()) return std::nullopt;
  auto segment = std::ranges::upper_bound(segments_, when, {}, &Segment::from);
  if (segment != segments_.begin()) --segment;
  const std::string text =
      segment->closed ? Expand(segment->text, segment->text_bytes) : segment->text;
  Moment moment;
  std::string_view rest = text;
  for (bool first = true; !rest.empty(); first = false) {
    TimePoint at;
    const auto delta = Unpack(rest, at);
    CHECK(delta.ok());
    if (at > when && !first) break;
    Apply(*delta, moment.picture);
    moment.at = at;
  }
  return moment;
}

std::string History::Timeline(TimePoint from, TimePoint to, size_t points) const {
  std::vector<const Sample*> shown;
  const auto begin = std::ranges::lower_bound(samples_, from, {}, &Sample::at);
  const auto end = std::ranges::upper_bound(samples_, to, {}, &Sample::at);
  const auto all = static_cast<size_t>(std::max<ptrdiff_t>(0, end - begin));
  const size_t per_point = std::max<size_t>(1, (all + points - 1) / std::max<size_t>(1, points));
  for (size_t i = 0; i < all; i += per_point) {
    const Sample* peak = &begin[static_cast<ptrdiff_t>(i)];
    for (size_t j = i; j < std::min(all, i + per_point); ++j) {
      const Sample& sample = begin[static_cast<ptrdiff_t>(j)];
      if (sample.pending > peak->pending) peak = &sample;
    }
    shown.push_back(peak);
  }
  report::JsonOut out;
  out.Open('{');
  const auto column = [&](std::string_view name, auto value) {
    out.Key(name).Open('[');
    for (const Sample* sample : shown) value(*sample);
    out.Close(']');
  };
  column("at", [&](const Sample& s) { out.Int(Unix(s.at)); });
  column("nodes", [&](const Sample& s) { out.Int(s.nodes); });
  column("coming", [&](const Sample& s) { out.Int(s.coming); });
  column("leaving", [&](const Sample& s) { out.Int(s.leaving); });
  column("unneeded", [&](const Sample& s) { out.Int(s.unneeded); });
  column("running", [&](const Sample& s) { out.Int(s.running); });
  column("pending", [&](const Sample& s) { out.Int(s.pending); });
  column("cost", [&](const Sample& s) { out.Real(std::round(s.cost * 1e3) / 1e3); });
  column("cpu", [&](const Sample& s) { out.Int(std::lround(s.cpu * 1000)); });
  column("memory", [&](const Sample& s) { out.Int(std::lround(s.memory * 1000)); });
  return out.Close('}').Take();
}

}  // namespace coppice::web
