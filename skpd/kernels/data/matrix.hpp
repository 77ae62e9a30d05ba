// A data matrix: its element layouts and the products with it.
#pragma once

#include "data/bounded_products.hpp"
#include "data/compensated_products.hpp"
#include "data/layouts.hpp"
#include "data/products.hpp"
