// The whole program as one function, for main.cc and for programs out of tree that add plug-ins of
// their own:
//
//   int main(int argc, char** argv) {
//     coppice::app::Plugins plugins;
//     coppice::app::RegisterDiscoveredPlugins(plugins);
//     my::Register(plugins.clouds);
//     return coppice::app::Main(argc, argv, plugins);
//   }

#pragma once

#include "seats/plugins.h"

namespace coppice::app {

using seats::Plugins;
using seats::RegisterDiscoveredPlugins;

// Reads the command line, runs the command, returns the exit code: 0 done, 1 failed, 2 wrong usage.
int Main(int argc, char** argv, Plugins& plugins);

}  // namespace coppice::app
