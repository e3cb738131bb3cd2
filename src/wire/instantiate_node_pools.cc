#include "wire/codec.h"
#include "wire/tables_node_pools.h"

COPPICE_WIRE_CUSTOM(coppice::model::NodePool);
COPPICE_WIRE_CUSTOM(coppice::model::NodeClaim);
COPPICE_WIRE_CUSTOM(coppice::model::NodeClass);
COPPICE_WIRE_CUSTOM(coppice::model::KwokNodeClass);
