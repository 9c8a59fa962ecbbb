#include "../lanes_neon.h"
#include "iq4_lanes.h"
