// Python binding of the allocator.
#include <cstddef>
#include <cstdlib>

#include "bind/arrays.hpp"

using namespace nanobind::literals;

namespace skpd {

void bind_memory(nb::module_& m) {
    m.def(
        "allocate_and_free",
        [](std::size_t n_bytes) {
            void* volatile block = std::malloc(n_bytes);  // volatile, or the pair would be left out
            std::free(block);
        },
        "n_bytes"_a, "Allocates so many bytes and frees them, untouched.");
}

}  // namespace skpd
