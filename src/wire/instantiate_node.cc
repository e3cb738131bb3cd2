#include "wire/codec.h"
#include "wire/tables_node.h"

COPPICE_WIRE_KIND(coppice::model::Node);
