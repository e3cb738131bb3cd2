// ApiSchema: holds answers against the schemas of an OpenAPI file: the part of JSON Schema that
// src/web/assets/openapi.yaml is written in. A word of it that is not known here fails the test.
//
// test/browser/api_test.mjs does the same with a whole validator; this one needs no more than what
// the C++ tests have.

#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"
#include "test/support/must.h"

namespace coppice::test {

class ApiSchema {
 public:
  explicit ApiSchema(std::string_view text) : root_(MUST(yaml::Parse(text, "openapi.yaml"))) {}

  // "" or where `value` is not what components/schemas/`name` says, and how.
  std::string Complaint(const nlohmann::json& value, const std::string& name) const {
    return Check(value, Schema(name), name);
  }

 private:
  using Json = nlohmann::json;

  static yaml::Node At(const yaml::Node& map, std::string_view key) {
    for (const auto& [name, value] : map.entries())
      if (name == key) return value;
    return {};
  }
  static bool IsThere(const yaml::Node& node) { return node.kind() != yaml::Node::Kind::kAbsent; }
  yaml::Node Schema(const std::string& name) const {
    return At(At(At(root_, "components"), "schemas"), name);
  }

  static bool IsOfType(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    return type == "null" && value.is_null();
  }

  std::string Check(const Json& value, const yaml::Node& schema, const std::string& where) const {
    if (!IsThere(schema)) return where + ": there is no such schema";
    for (const auto& [word, said] : schema.entries()) {
      std::string wrong;
      if (word == "$ref") {
        wrong = Check(value, Schema(said.scalar().substr(said.scalar().rfind('/') + 1)), where);
      } else if (word == "type") {
        const auto types = said.items();
        const bool right = types.empty() ? IsOfType(value, said.scalar())
                                         : std::ranges::any_of(types, [&](const auto& type) {
                                             return IsOfType(value, type.scalar());
                                           });
        if (!right) wrong = where + ": is of another type: " + value.dump().substr(0, 100);
      } else if (word == "enum") {
        const bool right = std::ranges::any_of(said.items(), [&](const auto& one) {
          return value.is_string() && value.template get_ref<const std::string&>() == one.scalar();
        });
        if (!right) wrong = where + ": " + value.dump() + " is none of the words";
      } else if (word == "anyOf") {
        std::string each;
        for (const yaml::Node& one : said.items()) {
          const std::string no = Check(value, one, where);
          if (no.empty()) each.clear();
          if (no.empty()) break;
          each += "\n  or " + no;
        }
        wrong = each;
      } else if (word == "required") {
        for (const yaml::Node& key : said.items())
          if (value.is_object() && !value.contains(key.scalar()))
            wrong = where + ": has no " + key.scalar();
      } else if (word == "items") {
        for (size_t i = 0; value.is_array() && i < value.size() && wrong.empty(); ++i)
          wrong = Check(value[i], said, where + "[" + std::to_string(i) + "]");
      } else if (word == "properties" || word == "additionalProperties") {
        wrong = CheckFields(value, schema, word, where);
      } else if (word != "description" && word != "pattern" && word != "maximum" &&
                 word != "minimum" && word != "maxLength" && word != "maxItems" &&
                 word != "maxProperties") {
        wrong = where + ": " + word + " is not known to the test";
      }
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  std::string CheckFields(const Json& value, const yaml::Node& schema, const std::string& word,
                          const std::string& where) const {
    if (!value.is_object()) return "";
    const yaml::Node known = At(schema, "properties");
    const yaml::Node others = At(schema, "additionalProperties");
    for (const auto& [key, inner] : value.items()) {
      const yaml::Node own = At(known, key);
      std::string wrong;
      if (word == "properties" && IsThere(own)) wrong = Check(inner, own, where + "." + key);
      if (word == "additionalProperties" && !IsThere(own)) {
        wrong = others.scalar() == "false" ? where + ": has a field " + key
                                           : Check(inner, others, where + "." + key);
      }
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  yaml::Node root_;
};

}  // namespace coppice::test
