#include "retune/leeway_policy.h"

#include "tests/catch.h"
