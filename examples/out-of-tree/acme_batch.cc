// The batch plug-in: a rule for Volcano-style sessions, one small function per role. Acme's finance
// jobs come first at the end of the month, whatever their priority.
//
//   tiers:
//   - plugins:
//     - name: acme-month-end

#include <chrono>
#include <string>

#include "acme.h"
#include "batch/session.h"

namespace acme {
namespace {

using namespace coppice;  // NOLINT

class MonthEnd final : public batch::Plugin, public batch::JobOrder {
 public:
  explicit MonthEnd(const batch::Arguments& arguments) {
    arguments.Get("acme-month-end.days", days_);
  }

  Status Open(batch::Session& session, batch::Slots& slots) override {
    const auto today = std::chrono::floor<std::chrono::days>(session.now());
    const std::chrono::year_month_day date(today);
    const std::chrono::sys_days last(date.year() / date.month() / std::chrono::last);
    if (last - today < std::chrono::days(days_)) slots.job_order = this;
    return Status::Ok();
  }

  // Below zero: `l` comes first. Zero: no opinion, the next plug-in is asked.
  int CompareJobs(const batch::Job& l, const batch::Job& r) override {
    return static_cast<int>(IsFinance(r)) - static_cast<int>(IsFinance(l));
  }

 private:
  static bool IsFinance(const batch::Job& job) { return job.namespace_ == "finance"; }
  int days_ = 3;
};

}  // namespace

void Register(batch::PluginRegistry& plugins) {
  plugins.Add("acme-month-end", batch::FactoryOf<MonthEnd>());
}

}  // namespace acme
