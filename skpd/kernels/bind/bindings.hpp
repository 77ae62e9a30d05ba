// The includes of most binding files: arrays from Python and the data matrix.
#pragma once

#include "bind/arrays.hpp"
#include "bind/matrix.hpp"
