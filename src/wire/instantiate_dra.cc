#include "wire/codec.h"
#include "wire/tables_dra.h"

COPPICE_WIRE_KIND(coppice::model::ResourceClaim);
COPPICE_WIRE_KIND(coppice::model::ResourceClaimTemplate);
COPPICE_WIRE_KIND(coppice::model::ResourceSlice);
COPPICE_WIRE_KIND(coppice::model::DeviceClass);
