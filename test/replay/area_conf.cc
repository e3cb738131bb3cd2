// conf: volcano-scheduler.conf as the real Volcano reads it, argument getters included.

#include <cmath>
#include <string>

#include "base/strings.h"
#include "batch/conf.h"
#include "test/replay/replay.h"

namespace coppice::replay {
namespace {

Json FloatJson(double value) {
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  if (std::isnan(value)) return "NaN";
  return value;
}

Json ArgumentJson(const batch::ArgumentValue& argument) {
  if (argument.AsBool()) return {{"bool", *argument.AsBool()}};
  if (argument.AsInt()) return {{"int", *argument.AsInt()}};
  if (argument.AsUnsigned()) return {{"uint", *argument.AsUnsigned()}};
  if (argument.AsFloat()) return {{"float", FloatJson(*argument.AsFloat())}};
  if (argument.AsText()) return {{"string", *argument.AsText()}};
  if (argument.AsList()) {
    Json list = Json::array();
    for (const auto& item : *argument.AsList()) list.push_back(ArgumentJson(item));
    return {{"list", list}};
  }
  if (argument.AsMap()) {
    Json map = Json::object();
    for (const auto& [key, value] : *argument.AsMap()) map[key] = ArgumentJson(value);
    return {{"map", map}};
  }
  return {{"null", true}};
}

Json ArgumentsJson(const batch::Arguments& arguments) {
  Json json = Json::object();
  for (const auto& [key, value] : arguments.values()) json[key] = ArgumentJson(value);
  return json;
}

Json GettersJson(const batch::Arguments& arguments) {
  Json json = Json::object();
  for (const auto& [key, value] : arguments.values()) {
    int64_t number = -777;
    double real = -777.5;
    std::string text = "@default";
    bool once = false;
    bool again = true;
    arguments.Get(key, number);
    arguments.Get(key, real);
    arguments.Get(key, text);
    arguments.Get(key, once);
    arguments.Get(key, again);
    json[key] = {{"int", number}, {"float", FloatJson(real)}, {"string", text}};
    json[key]["bool"] = once == again ? Json(once) : Json("@default");
  }
  return json;
}

Json PluginJson(const batch::PluginOption& plugin) {
  Json json{{"name", plugin.name}, {"disabled", Json::array()}, {"unset", Json::array()}};
  int enabled = 0;
  for (size_t i = 0; i < batch::kFlags; ++i) {
    const auto key = batch::FlagKey(static_cast<batch::Flag>(i));
    if (!plugin.flags[i]) {
      json["unset"].push_back(key);
    } else if (*plugin.flags[i]) {
      ++enabled;
    } else {
      json["disabled"].push_back(key);
    }
  }
  json["enabledCount"] = enabled;
  if (!plugin.arguments.empty()) {
    json["arguments"] = ArgumentsJson(plugin.arguments);
    json["getters"] = GettersJson(plugin.arguments);
  }
  return json;
}

Json ConfJson(const batch::Conf& conf) {
  Json json{{"actions", conf.actions}};
  for (const batch::Tier& tier : conf.tiers) {
    Json plugins = Json::array();
    for (const auto& plugin : tier.plugins) plugins.push_back(PluginJson(plugin));
    json["tiers"].push_back({{"plugins", plugins}});
  }
  if (conf.configurations) {
    json["configurations"] = Json::array();
    for (const auto& configuration : *conf.configurations) {
      json["configurations"].push_back(
          {{"name", configuration.name}, {"arguments", ArgumentsJson(configuration.arguments)}});
    }
  }
  if (conf.metrics) json["metrics"] = *conf.metrics;
  return json;
}

// Nothing, an empty list and an empty map are written in different ways.
Json WithoutEmpty(const Json& json) {
  Json kept = json;
  for (const auto& [key, value] : json.items()) {
    if (value.is_null() || ((value.is_array() || value.is_object()) && value.empty())) {
      kept.erase(key);
    }
  }
  return kept;
}

std::string_view KindOf(const Status& status) {
  if (status.code() == Code::kNotFound) return "action";
  return status.code() == Code::kFailedPrecondition ? "conflict" : "yaml";
}

}  // namespace

void conf(const Json& c, Report& report) {
  const std::string text = c.at("conf").get<std::string>();
  const auto parsed = batch::ParseConf(Trim(text));
  const Json& expect = c.at("expect");
  if (!parsed.ok()) {
    if (!expect.contains("errorKind")) {
      report.Differs("conf", "accepted", parsed.status().ToString());
    } else if (expect.at("errorKind") != KindOf(parsed.status())) {
      report.Differs("errorKind", expect.at("errorKind").dump(), parsed.status().ToString());
    }
    return;
  }
  const Json theirs = WithoutEmpty(expect);
  const Json ours = WithoutEmpty(ConfJson(*parsed));
  if (theirs != ours) report.Differs("conf", theirs.dump(), ours.dump());
}

}  // namespace coppice::replay
