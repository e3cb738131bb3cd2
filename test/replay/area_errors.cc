// coppice-replay errors: refusals of a real API server. Code, reason, retry-after and causes have
// to arrive in our error, from protobuf as from JSON, and its gRPC code has to be the one for that
// HTTP status.

#include <map>
#include <string>

#include "test/replay/kube_answer.h"
#include "test/replay/replay.h"
#include "wire/api_error.h"
#include "wire/wire.h"

namespace coppice::replay {
namespace {

// Said once more, apart from the table that the product uses.
Code ExpectedCode(int http_status, const std::string& reason) {
  if (reason == "AlreadyExists") return Code::kAlreadyExists;
  static const std::map<int, Code> kCodes = {
      {400, Code::kInvalidArgument}, {401, Code::kUnauthenticated}, {403, Code::kPermissionDenied},
      {404, Code::kNotFound},        {405, Code::kUnimplemented},   {409, Code::kAborted},
      {410, Code::kOutOfRange},      {422, Code::kInvalidArgument}, {429, Code::kResourceExhausted},
      {500, Code::kInternal},        {503, Code::kUnavailable},     {504, Code::kDeadlineExceeded}};
  const auto it = kCodes.find(http_status);
  return it == kCodes.end() ? Code::kUnknown : it->second;
}

std::string Header(const Json& c, const char* name) {
  return c.contains("headers") ? c["headers"].value(name, "") : "";
}

void CompareError(const std::string& where, const std::string& theirs, const std::string& ours,
                  Report& report) {
  if (theirs != ours) report.Differs(where, theirs, ours);
}

Json CausesOf(const wire::ApiError& error) {
  Json causes = Json::array();
  for (const auto& cause : error.causes) {
    Json one = Json::object();
    if (!cause.reason.empty()) one["reason"] = cause.reason;
    if (!cause.message.empty()) one["message"] = cause.message;
    if (!cause.field.empty()) one["field"] = cause.field;
    causes.push_back(one);
  }
  return causes;
}

std::string RetryAfterOf(const Json& c, const Json& details) {
  if (const std::string header = Header(c, "Retry-After"); !header.empty()) return header;
  const int seconds = details.value("retryAfterSeconds", 0);
  return seconds == 0 ? "none" : std::to_string(seconds);
}

void JudgeError(const std::string& encoding, const Json& c, const wire::ApiError& error,
                Report& report) {
  const Json& json = c.at("json");
  const Json body = json.is_object() ? json : Json::object();
  const Json details = body.value("details", Json::object());
  const int status = c.at("status");
  const std::string reason = body.value("reason", "");
  CompareError(encoding + " HTTP status", std::to_string(status), std::to_string(error.http_status),
               report);
  CompareError(encoding + " reason", reason, error.reason, report);
  CompareError(encoding + " retry-after", RetryAfterOf(c, details),
               error.retry_after ? std::to_string(error.retry_after->count()) : "none", report);
  CompareError(encoding + " causes", details.value("causes", Json::array()).dump(),
               CausesOf(error).dump(), report);
  CompareError(encoding + " continue", body.value("metadata", Json::object()).value("continue", ""),
               error.continue_, report);
  CompareError(encoding + " code", std::string(ToString(ExpectedCode(status, reason))),
               std::string(ToString(error.ToStatus().code())), report);
}

}  // namespace

void errors(const Json& c, Report& report) {
  const std::string body = BodyOf(c);
  const std::string content_type = Header(c, "Content-Type");
  const std::string retry_after = Header(c, "Retry-After");
  const int status = c.at("status");
  JudgeError("protobuf", c, wire::ErrorFromAnswer(status, content_type, retry_after, body), report);
  if (!c.at("json").is_object()) return;
  const std::string json = c.at("json").dump();
  JudgeError("JSON", c, wire::ErrorFromAnswer(status, "application/json", retry_after, json),
             report);
  auto from_proto = wire::FromEnvelope<model::ApiStatus>(body);
  const auto from_json = wire::FromJson<model::ApiStatus>(json);
  if (!from_proto.ok())
    return report.Differs("protobuf", "readable", from_proto.status().ToString());
  if (!from_json.ok()) return report.Differs("JSON", "readable", from_json.status().ToString());
  // Two requests: a text that names the current version need not be the same twice.
  from_proto->message = from_json->message;
  if (!(*from_proto == *from_json)) report.Differs("Status", json, wire::ToJson(*from_proto));
  CompareError("JSON message", c.at("json").value("message", ""), from_json->message, report);
}

}  // namespace coppice::replay
