set(PLUGIN_LIBS nlohmann_json::nlohmann_json)
