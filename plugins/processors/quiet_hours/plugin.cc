// quiet-hours: at these times of day (UTC) no node is removed. Which nodes are not needed, and
// since when, goes on being worked out, so that they go as soon as the hours are over.
//
//   --processor=scale-down-node=quiet-hours:07:00-19:30,22:00-02:00

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autoscale/processor_registry.h"
#include "base/strings.h"

namespace coppice::processors::quiet_hours {
namespace {

constexpr int kDay = 24 * 60;

struct Span {  // minutes of the day; one that ends before it begins goes over midnight
  int from = 0;
  int to = 0;
  bool Contains(int minute) const {
    return from <= to ? minute >= from && minute < to : minute >= from || minute < to;
  }
};

// HH:MM, up to 24:00.
std::optional<int> MinuteOfDay(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  int hour = 0;
  int minute = 0;
  const auto read = [](std::string_view digits, int& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() && value >= 0;
  };
  if (!read(text.substr(0, 2), hour) || !read(text.substr(3), minute) || minute > 59)
    return std::nullopt;
  const int total = hour * 60 + minute;
  return total <= kDay ? std::optional(total) : std::nullopt;
}

class QuietHours final : public autoscale::ScaleDownNodeProcessor {
 public:
  explicit QuietHours(std::vector<Span> spans) : spans_(std::move(spans)) {}

  Result<Names> Candidates(Names standard, const std::vector<autoscale::ListedNode>&,
                           const autoscale::PassView& view) override {
    const auto since_epoch =
        std::chrono::floor<std::chrono::minutes>(view.now.time_since_epoch()).count();
    const int minute = static_cast<int>(((since_epoch % kDay) + kDay) % kDay);
    if (std::ranges::any_of(spans_, [minute](const Span& s) { return s.Contains(minute); }))
      view.disable_scale_down();
    return standard;
  }

 private:
  const std::vector<Span> spans_;
};

Result<std::unique_ptr<autoscale::ScaleDownNodeProcessor>> Make(
    const autoscale::ProcessorContext& context) {
  std::vector<Span> spans;
  for (const std::string& part : Split(context.argument, ',')) {
    const size_t dash = part.find('-');
    const auto from = MinuteOfDay(std::string_view(part).substr(0, dash));
    const auto to = dash == std::string::npos
                        ? std::nullopt
                        : MinuteOfDay(std::string_view(part).substr(dash + 1));
    if (!from || !to || *from == *to) {
      return InvalidArgument("'" + part +
                             "' is not a span of the day; write hours as 07:00-19:30 (UTC)");
    }
    spans.push_back({*from, *to});
  }
  return std::unique_ptr<autoscale::ScaleDownNodeProcessor>(
      std::make_unique<QuietHours>(std::move(spans)));
}

}  // namespace

void Register(autoscale::ProcessorRegistry& registry) {
  registry.scale_down_node.Add("quiet-hours", Make);
}

}  // namespace coppice::processors::quiet_hours
