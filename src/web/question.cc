#include "web/question.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace coppice::web {
namespace {

using Json = nlohmann::json;

Result<Json> ParseObject(std::string_view text) {
  // Iterative, so that depth is no danger; a body is small (site.h).
  Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (json.is_discarded()) return InvalidArgument("the body is not JSON");
  if (!json.is_object()) return InvalidArgument("the body is not a JSON object");
  return json;
}

Result<std::string> Text(const Json& json, const std::string& field) {
  if (!json.is_string() || json.get_ref<const std::string&>().size() > 300)
    return InvalidArgument(field + " is to be a text of at most 300 bytes");
  return json.get<std::string>();
}

Result<int> Whole(const Json& json, const std::string& field, int most) {
  if (!json.is_number_integer()) return InvalidArgument(field + " is to be a whole number");
  const auto value = json.get<int64_t>();
  if (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(most))
    return InvalidArgument(field + " is at most " + std::to_string(most));
  if (value < 0 || value > most) return InvalidArgument(field + " is 0 to " + std::to_string(most));
  return static_cast<int>(value);
}

Result<std::vector<std::string>> Texts(const Json& json, const std::string& field) {
  if (!json.is_array() || json.size() > kMostNamed)
    return InvalidArgument(field + " is to be a list of at most " + std::to_string(kMostNamed));
  std::vector<std::string> texts;
  for (const Json& one : json) texts.push_back(TRY(Text(one, field)));
  return texts;
}

Result<std::map<std::string, std::string>> TextMap(const Json& json, const std::string& field) {
  if (!json.is_object() || json.size() > kMostNamed)
    return InvalidArgument(field + " is to be an object of texts");
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : json.items()) texts[key] = TRY(Text(value, field + "." + key));
  return texts;
}

Result<Question::Pods> ParsePods(const Json& json) {
  if (!json.is_object()) return InvalidArgument("addPods is to be an object");
  Question::Pods pods;
  for (const auto& [key, value] : json.items()) {
    if (key == "count") {
      pods.count = TRY(Whole(value, "addPods.count", kMostAddedPods));
    } else if (key == "like") {
      pods.like = TRY(Text(value, "addPods.like"));
    } else if (key == "cpu") {
      pods.cpu = TRY(Text(value, "addPods.cpu"));
    } else if (key == "memory") {
      pods.memory = TRY(Text(value, "addPods.memory"));
    } else if (key == "other") {
      pods.other = TRY(TextMap(value, "addPods.other"));
    } else if (key == "nodeSelector") {
      pods.node_selector = TRY(TextMap(value, "addPods.nodeSelector"));
    } else {
      return InvalidArgument("addPods has no field " + key);
    }
  }
  if (pods.count == 0) return InvalidArgument("addPods.count is to be 1 or more");
  return pods;
}

}  // namespace

Result<Question> ParseQuestion(std::string_view text) {
  const Json json = TRY(ParseObject(text));
  Question question;
  for (const auto& [key, value] : json.items()) {
    if (key == "removeNodes") {
      question.remove_nodes = TRY(Texts(value, key));
    } else if (key == "forbidTypes") {
      question.forbid_types = TRY(Texts(value, key));
    } else if (key == "addPods") {
      question.add_pods = TRY(ParsePods(value));
    } else if (key == "maxSizes") {
      if (!value.is_object() || value.size() > kMostNamed)
        return InvalidArgument("maxSizes is to be an object of numbers by group");
      for (const auto& [group, size] : value.items())
        question.max_sizes[group] = TRY(Whole(size, "maxSizes." + group, 100'000));
    } else if (key == "limits") {
      if (!value.is_object() || value.size() > kMostNamed)
        return InvalidArgument("limits is to be an object of amounts by node pool");
      for (const auto& [pool, limits] : value.items())
        question.limits[pool] = TRY(TextMap(limits, "limits." + pool));
    } else {
      return InvalidArgument("a question has no field " + key);
    }
  }
  if (question == Question{}) return InvalidArgument("the question is empty: change something");
  return question;
}

Result<Control> ParseControl(std::string_view text) {
  const Json json = TRY(ParseObject(text));
  Control control;
  for (const auto& [key, value] : json.items()) {
    if (key == "paused" && value.is_boolean()) {
      control.paused = value.get<bool>();
    } else if (key == "speed" && value.is_number()) {
      const auto speed = value.get<double>();
      if (!std::isfinite(speed) || speed < 0 || speed > 100'000)
        return InvalidArgument("speed is 0 (as fast as it goes) to 100000");
      control.speed = speed;
    } else {
      return InvalidArgument("there are paused (true, false) and speed (a number)");
    }
  }
  return control;
}

Result<std::string> ParseToken(std::string_view text) {
  const Json json = TRY(ParseObject(text));
  if (json.size() != 1 || !json.contains("token")) return InvalidArgument("send {\"token\": …}");
  return Text(json["token"], "token");
}

Result<int64_t> ParseUnix(std::string_view text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  // What fits into a point in time, with room to spare.
  if (problem != std::errc() || end != text.data() + text.size() || !(std::abs(value) < 8e9))
    return InvalidArgument("a time is written as seconds since 1970");
  return static_cast<int64_t>(value);
}

Result<uint64_t> ParseCount(std::string_view text, uint64_t most) {
  uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || value > most)
    return InvalidArgument("'" + std::string(text.substr(0, 40)) + "' is not a number of 0 to " +
                           std::to_string(most));
  return value;
}

}  // namespace coppice::web
