#include "base/completion.h"

#include <fmt/format.h>

namespace coppice {
namespace {

// The second word's own words, for who takes any; then files.
constexpr char kBash[] = R"sh(# coppice completion bash
_coppice() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}} words
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{commands} --help --version" -- "$current"))
    return
  fi
  if [[ $current == -* ]]; then
    words=$("${{COMP_WORDS[0]}}" "$command" --help-flags 2>/dev/null | sed -n 's/^ *\(--[a-z0-9][a-z0-9-]*\).*/\1/p')
    COMPREPLY=($(compgen -W "$words --help" -- "$current"))
    return
  fi
  case $command in
    conform) words="provider expander extender cloud" ;;
    explain) words="pod node group pool claim gang last" ;;
    completion) words="bash zsh fish" ;;
  esac
  if [ "$COMP_CWORD" -eq 2 ] && [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}}
complete -o default -F _coppice coppice
)sh";

// The formatter takes the quotes within for the end of the string.
// clang-format off
constexpr char kZsh[] = R"sh(#compdef coppice
# coppice completion zsh
_coppice() {{
  local -a commands flags
  commands=(
{commands}  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  if [[ ${{words[CURRENT]}} == -* ]]; then
    flags=(${{(f)"$(${{words[1]}} ${{words[2]}} --help-flags 2>/dev/null | sed -n 's/^ *\(--[a-z0-9][a-z0-9-]*\).*/\1/p')"}})
    compadd -- $flags --help
    return
  fi
  if (( CURRENT == 3 )); then
    case ${{words[2]}} in
      conform) compadd provider expander extender cloud; return ;;
      explain) compadd pod node group pool claim gang last; return ;;
      completion) compadd bash zsh fish; return ;;
    esac
  fi
  _files
}}
compdef _coppice coppice
)sh";
// clang-format on

constexpr char kFish[] = R"sh(# coppice completion fish
function __coppice_flags
  set -l words (commandline -opc)
  test (count $words) -ge 2; and $words[1] $words[2] --help-flags 2>/dev/null | string match -rg '^ *(--[a-z0-9][a-z0-9-]*)'
end
{commands}complete -c coppice -n 'not __fish_use_subcommand' -a '(__coppice_flags)'
complete -c coppice -n '__fish_seen_subcommand_from conform' -a 'provider expander extender cloud'
complete -c coppice -n '__fish_seen_subcommand_from explain' -a 'pod node group pool claim gang last'
complete -c coppice -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'
)sh";

// Between single quotes of a shell; in zsh's list a colon ends the name.
std::string Quotable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else if (c == ':') {
      out += "\\:";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string CompletionFor(std::string_view shell, std::span<const CompletedCommand> commands) {
  std::string list;
  for (const CompletedCommand& command : commands) {
    if (command.help.empty()) continue;
    if (shell == "zsh") {
      list += fmt::format("    '{}:{}'\n", command.name, Quotable(command.help));
    } else if (shell == "fish") {
      list += fmt::format("complete -c coppice -f -n __fish_use_subcommand -a {} -d \"{}\"\n",
                          command.name, command.help);
    } else {
      list += (list.empty() ? "" : " ") + std::string(command.name);
    }
  }
  const auto with = [&](const char* script) {
    return fmt::format(fmt::runtime(script), fmt::arg("commands", list));
  };
  return shell == "zsh" ? with(kZsh) : shell == "fish" ? with(kFish) : with(kBash);
}

}  // namespace coppice
