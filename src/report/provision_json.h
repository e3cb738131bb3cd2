// The report of node pools as JSON, for `coppice explain last` and the dashboard.

#pragma once

#include <string>

#include "report/json_out.h"
#include "report/provision_report.h"

namespace coppice::report {

void Write(JsonOut& out, const ProvisionReport& report);
std::string ToJson(const ProvisionReport& report);

}  // namespace coppice::report
