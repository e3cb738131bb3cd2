// What a shell sources to complete commands and flags. The script knows the commands; of their flags
// it asks the program itself (COMMAND --help-flags), so that it does not age.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coppice {

struct CompletedCommand {
  std::string_view name;
  std::string_view help;
};

inline constexpr std::string_view kShells[] = {"bash", "zsh", "fish"};

// Of one of these shells.
std::string CompletionFor(std::string_view shell, std::span<const CompletedCommand> commands);

}  // namespace coppice
