set(PLUGIN_DEPS net)
set(PLUGIN_LIBS simdjson::simdjson)
