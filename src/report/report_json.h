// A pass's report as JSON, for whoever shows it or keeps it: the dashboard, `coppice simulate`, a
// script. Names are stable; sentences (explain.h) are in it beside the numbers they are made from.

#pragma once

#include <string>

#include "report/json_out.h"
#include "report/pass_report.h"

namespace coppice::report {

std::string ToJson(const PassReport& report);

// Its parts, into a document that the caller has open.
void Write(JsonOut& out, const PassReport& report);
void Write(JsonOut& out, const ScaleUp& scale_up);
void Write(JsonOut& out, const Unhelped& unhelped);
void Write(JsonOut& out, const StayingNode& node);
void Write(JsonOut& out, const RemovedNode& node);
// The field "shortfalls" of an object that the caller has open.
void WriteShortfalls(JsonOut& out, const std::vector<model::Shortfall>& shortfalls);

}  // namespace coppice::report
