// How the `usage` plug-in is made: apart from Register(), so that tests hand in loads of their own.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "batch/plugin.h"
#include "plugins/batch/usage/source.h"

namespace coppice::batch::usage {

// The source that the configuration's `metrics` names.
using SourceMaker = std::function<Result<std::shared_ptr<Source>>(
    const std::map<std::string, std::string>& metrics)>;

PluginFactory MakeFactory(SourceMaker make);
void Register(PluginRegistry& registry);

}  // namespace coppice::batch::usage
