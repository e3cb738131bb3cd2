#include "plugins/clouds/cloudscale/error_text.h"

#include <simdjson.h>

#include <algorithm>
#include <vector>

#include "base/strings.h"

namespace coppice::clouds::cloudscale {
namespace {

namespace dom = simdjson::dom;

// Collects the texts of an error body of any shape. Depth is bounded by simdjson (1024 levels) and
// by us.
void CollectTexts(const dom::element& element, const std::string& path, int depth,
                  std::vector<std::string>& out) {
  if (depth > 8 || out.size() > 20) return;
  dom::object object;
  dom::array list;
  std::string_view text;
  if (element.get(object) == simdjson::SUCCESS) {
    for (const auto [key, value] : object) {
      const std::string inner = path.empty() ? std::string(key) : path + "." + std::string(key);
      CollectTexts(value, inner, depth + 1, out);
    }
  } else if (element.get(list) == simdjson::SUCCESS) {
    for (const dom::element item : list) CollectTexts(item, path, depth + 1, out);
  } else if (element.get(text) == simdjson::SUCCESS) {
    const bool plain = path.empty() || path == "detail";
    out.push_back(plain ? std::string(text) : path + ": " + std::string(text));
  } else if (!element.is_null()) {
    out.push_back((path.empty() ? "" : path + ": ") + std::string(simdjson::minify(element)));
  }
}

// What a person would see of a page: text between tags.
std::string WithoutTags(std::string_view page) {
  std::string out;
  bool inside = false;
  for (const char c : page) {
    if (c == '<') inside = true;
    if (!inside) out += c;
    if (c == '>') {
      inside = false;
      out += ' ';
    }
  }
  return out;
}

// One line, printable, blanks squeezed, at most 400 bytes and cut between characters.
std::string OneLine(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7f) {
      if (!out.empty() && out.back() != ' ') out += ' ';
    } else {
      out += c;
    }
    if (out.size() > 400) break;
  }
  if (out.size() > 400) {
    out.resize(397);
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80) out.pop_back();
    if (!out.empty() && static_cast<unsigned char>(out.back()) >= 0xc0) out.pop_back();
    out += "...";
  }
  while (out.ends_with(' ')) out.pop_back();
  return simdjson::validate_utf8(out) ? out : "bytes that are not text";
}

}  // namespace

std::string ErrorText(std::string_view body) {
  dom::parser parser;
  dom::element root;
  if (parser.parse(body.data(), body.size()).get(root) == simdjson::SUCCESS) {
    std::vector<std::string> texts;
    CollectTexts(root, "", 0, texts);
    return OneLine(Join(texts, "; "));
  }
  const std::string_view start = Trim(body.substr(0, 16 << 10));
  return start.starts_with('<') ? OneLine(WithoutTags(start)) : OneLine(start);
}

bool MeansOutOfResources(std::string_view error_text) {
  const std::string text = Lower(error_text);
  const auto has = [&text](std::string_view word) { return text.find(word) != std::string::npos; };
  static constexpr std::string_view kWords[] = {"quota",
                                                "limit exceeded",
                                                "limit reached",
                                                "limit has been reached",
                                                "exceeds the limit",
                                                "maximum number",
                                                "out of stock",
                                                "out of capacity",
                                                "no capacity",
                                                "not enough capacity",
                                                "insufficient",
                                                "exhausted",
                                                "no resources",
                                                "not enough resources",
                                                "no valid host",
                                                "currently unavailable",
                                                "temporarily unavailable"};
  return std::ranges::any_of(kWords, has);
}

}  // namespace coppice::clouds::cloudscale
