// `coppice top`: the Now page of a running instance as a screen in a terminal.

#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "app/command_line.h"
#include "app/commands/commands.h"
#include "app/instance.h"
#include "web/top_screen.h"
#include "whatif/terminal_look.h"

namespace coppice::app {
namespace {

constexpr std::string_view kTopAbout =
    R"(coppice top: what a running instance sees and decides, as a screen

Groups and pools with their nodes, queues with the gangs that wait in them, pods that wait and why, the last decisions; anew every two
seconds until Ctrl-C. Where the output is no terminal, or with --once, it is printed once.
)";

constexpr Duration kStep = std::chrono::milliseconds(50);  // how soon Ctrl-C is heard

volatile std::sig_atomic_t stopped = 0;
void Stop(int) { stopped = 1; }

web::TopLook LookNow(bool full) {
  const whatif::TerminalLook terminal =
      whatif::LookOf(STDOUT_FILENO, std::getenv("NO_COLOR"), std::getenv("TERM"));
  web::TopLook look{.colour = terminal.colour};
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    look.width = size.ws_col;
    if (full && size.ws_row > 1) look.height = size.ws_row - 1u;  // the last line stays free
  }
  return look;
}

Result<std::string> Look(Instance& instance, bool full) {
  const std::string state = TRY(instance.Get("state"));
  const std::string decisions = TRY(instance.Get("decisions?limit=8"));
  return web::TopScreen(state, decisions, instance.url(), LookNow(full));
}

void Wait(Duration time) {
  for (Duration waited{}; waited < time && stopped == 0; waited += kStep)
    std::this_thread::sleep_for(kStep);
}

// On a screen of its own, so that what stood there before comes back. An instance that is away for a
// moment is told of and asked again.
int Watch(Instance& instance, Duration every) {
  stopped = 0;
  const auto before = std::signal(SIGINT, Stop);
  const auto before_term = std::signal(SIGTERM, Stop);
  std::fputs("\x1b[?1049h\x1b[?25l", stdout);
  while (stopped == 0) {
    const auto screen = Look(instance, true);
    std::string text = screen.ok() ? *screen : screen.status().message() + "\n";
    std::string out = "\x1b[H";
    for (const char c : text) {
      if (c == '\n') out += "\x1b[K";  // what the last screen had further to the right
      out += c;
    }
    std::fputs((out + "\x1b[J").c_str(), stdout);
    std::fflush(stdout);
    Wait(every);
  }
  std::fputs("\x1b[?25h\x1b[?1049l", stdout);
  std::fflush(stdout);
  std::signal(SIGINT, before);
  std::signal(SIGTERM, before_term);
  return 0;
}

}  // namespace

int RunTop(const std::vector<std::string>& args, Plugins&) {
  InstanceFlags where;
  bool once = false;
  Duration every = std::chrono::seconds(2);
  FlagSet flags;
  flags.Group("What is shown");
  flags.AddBool("once", once, "One screen, without clearing anything.");
  flags.AddDuration("every", every, {std::chrono::milliseconds(200), std::chrono::hours(1)},
                    "How often it is asked again.");
  flags.Group("Which instance");
  AddInstanceFlags(flags, where);
  std::vector<std::string> rest = args;
  const bool from_kubectl = TakeFromKubectl(rest);
  if (const auto code = ReadCommandLine({"top", kTopAbout}, flags, rest)) return *code;
  const auto instance = Instance::Open(where, from_kubectl);
  if (!instance.ok()) return Failed("top", instance.status());
  const auto first = Look(**instance, false);
  if (!first.ok()) return Failed("top", first.status());
  if (!once && isatty(STDOUT_FILENO) != 0) return Watch(**instance, every);
  std::fputs(first->c_str(), stdout);
  return 0;
}

}  // namespace coppice::app
