#include "wire/codec.h"
#include "wire/tables_policy.h"

COPPICE_WIRE_KIND(coppice::model::PodDisruptionBudget);
COPPICE_WIRE_KIND(coppice::model::PriorityClass);
COPPICE_WIRE_KIND(coppice::model::RuntimeClass);
