// coppice-replay lists: answers of a real API server in both encodings. Both have to decode to
// equal values, and what we write of them, in either encoding, has to decode to the same again.
// What we write as JSON must also stand in their JSON, word for word: that catches a field that
// both readers overlook alike.

#include <string>

#include "test/replay/kube_answer.h"
#include "test/replay/replay.h"
#include "wire/envelope.h"
#include "wire/wire.h"

namespace coppice::replay {
namespace {

template <class T>
bool SameAgain(const char* how, const Result<T>& again, const T& value, Report& report) {
  if (!again.ok()) {
    report.Differs(how, "readable", again.status().ToString());
    return false;
  }
  if (*again == value) return true;
  report.Differs(how, wire::ToJson(value), wire::ToJson(*again));
  return false;
}

template <class T>
void Judge(const std::string& body, const Json& json, Report& report) {
  const auto from_proto = wire::FromEnvelope<T>(body);
  if (!from_proto.ok())
    return report.Differs("protobuf", "readable", from_proto.status().ToString());
  const auto from_json = wire::FromJson<T>(json.dump());
  if (!from_json.ok()) return report.Differs("JSON", "readable", from_json.status().ToString());
  if (!(*from_proto == *from_json)) {
    return report.Differs("protobuf and JSON", wire::ToJson(*from_json), wire::ToJson(*from_proto));
  }
  const T& value = *from_proto;
  const std::string written = wire::ToJson(value);
  SameAgain("protobuf written and read", wire::FromProto<T>(wire::ToProto(value)), value, report);
  SameAgain("envelope written and read", wire::FromEnvelope<T>(wire::ToEnvelope(value)), value,
            report);
  SameAgain("JSON written and read", wire::FromJson<T>(written), value, report);
  const std::string difference = NotInTheirs(Json::parse(written), json);
  if (!difference.empty()) report.Differs("JSON as written", "the same field", difference);
}

template <class T>
void JudgeItems(const std::string& bytes, const model::List<T>& expected, Report& report) {
  model::List<T> list;
  const auto metadata = wire::ForEachItem<T>(bytes, [&list](T& item) {
    list.items.push_back(item);
    return Status::Ok();
  });
  if (!metadata.ok())
    return report.Differs("item by item", "readable", metadata.status().ToString());
  list.metadata = *metadata;
  SameAgain<model::List<T>>("item by item", list, expected, report);
}

}  // namespace

void lists(const Json& c, Report& report) {
  const std::string body = BodyOf(c);
  const Json& json = c.at("json");
  const auto envelope = wire::OpenEnvelope(body);
  if (!envelope.ok()) return report.Differs("envelope", "readable", envelope.status().ToString());
  const std::string api_version(envelope->api_version);
  std::string kind(envelope->kind);
  const bool is_list = kind.ends_with("List");
  if (is_list) kind.resize(kind.size() - 4);
  const bool known = WithKind(api_version, kind, [&]<class T>() {
    if (!is_list) return Judge<T>(body, json, report);
    Judge<model::List<T>>(body, json, report);
    const auto whole = wire::FromEnvelope<model::List<T>>(body);
    if (!whole.ok()) return;
    JudgeItems<T>(body, *whole, report);
    JudgeItems<T>(json.dump(), *whole, report);
  });
  if (!known) report.Unreadable("no such kind: " + api_version + " " + kind);
}

}  // namespace coppice::replay
