// Reads the files (plain or gzip, one JSON case per line), runs the area on each case, prints what
// differs.

#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "test/replay/replay.h"

namespace coppice::replay {

using Area = std::function<void(const Json&, Report&)>;
std::map<std::string, Area> Areas();  // generated from the area_*.cc files

namespace {

constexpr int kPrintedDifferences = 20;

std::string case_folder = ".";  // of the file that is being read

struct Tally {
  int cases = 0;
  int differing = 0;
  int printed = 0;
};

std::string NameOf(const Json& c, int line) {
  if (c.is_object() && c.contains("name") && c["name"].is_string()) return c["name"];
  return "line " + std::to_string(line);
}

void RunCase(const Area& area, const std::string& text, int line, Tally& tally) {
  ++tally.cases;
  Report report;
  report.text = text;
  std::string name = "line " + std::to_string(line);
  try {
    const Json parsed = Json::parse(text);
    name = NameOf(parsed, line);
    area(parsed, report);
  } catch (const std::exception& error) {  // a malformed case, found anywhere in it
    report.Unreadable(error.what());
  }
  if (report.lines.empty()) return;
  ++tally.differing;
  for (const std::string& difference : report.lines) {
    if (++tally.printed > kPrintedDifferences) return;
    std::printf("%s: %s\n", name.c_str(), difference.c_str());
  }
}

// zlib reads plain files too. Lines may be megabytes long.
bool RunFile(const Area& area, const char* path, Tally& tally) {
  case_folder = std::filesystem::path(path).parent_path().string();
  if (case_folder.empty()) case_folder = ".";
  gzFile file = gzopen(path, "rb");
  if (file == nullptr) {
    std::fprintf(stderr, "%s: cannot be opened\n", path);
    return false;
  }
  std::string pending;
  std::string chunk(1 << 20, '\0');
  int line = 0;
  int got = 0;
  while ((got = gzread(file, chunk.data(), static_cast<unsigned>(chunk.size()))) > 0) {
    pending.append(chunk, 0, static_cast<size_t>(got));
    size_t start = 0;
    for (size_t end; (end = pending.find('\n', start)) != std::string::npos; start = end + 1) {
      ++line;
      if (end > start) RunCase(area, pending.substr(start, end - start), line, tally);
    }
    pending.erase(0, start);
  }
  if (!pending.empty()) RunCase(area, pending, ++line, tally);
  const bool read_whole = got == 0 && gzclose(file) == Z_OK;
  if (!read_whole) std::fprintf(stderr, "%s: is damaged or could not be read to its end\n", path);
  return read_whole;
}

int Main(int argc, char** argv) {
  const auto areas = Areas();
  // Areas are spoken with dashes, their recordings' names have underscores: both are understood.
  std::string name = argc > 1 ? argv[1] : "";
  std::ranges::replace(name, '_', '-');
  const auto area = areas.find(name);
  if (area == areas.end() || argc < 3) {
    std::fprintf(stderr, "usage: coppice-replay AREA FILE...\nareas:");
    for (const auto& [known, judge] : areas) std::fprintf(stderr, " %s", known.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  Tally tally;
  bool all_read = true;
  for (int i = 2; i < argc; ++i) all_read = RunFile(area->second, argv[i], tally) && all_read;
  std::printf("%s: %d cases, %d differ\n", argv[1], tally.cases, tally.differing);
  return all_read && tally.cases > 0 && tally.differing == 0 ? 0 : 1;
}

}  // namespace

std::string CaseFolder() { return case_folder; }

}  // namespace coppice::replay

int main(int argc, char** argv) { return coppice::replay::Main(argc, argv); }
