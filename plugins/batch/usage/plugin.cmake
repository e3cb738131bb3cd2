set(PLUGIN_DEPS net)
set(PLUGIN_LIBS nlohmann_json::nlohmann_json)
