#include "lanes_neon.h"
#include "validate_lanes.h"
