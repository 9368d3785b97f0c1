// The floating-point mode of every thread that computes.
#pragma once

namespace quire {

// Flush-to-zero and denormals-are-zero in the calling thread: the same bits in
// every thread, and no slow subnormals.
void flush_to_zero();

}  // namespace quire
