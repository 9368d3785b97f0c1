#include "quire/kernels/cpu/gemm.h"

#include <dnnl.h>

#include <string>

#include "quire/core/error.h"

// Defined where oneDNN was built with OpenMP; a weak reference, because there
// is nothing to set where it was not.
extern "C" void omp_set_num_threads(int) __attribute__((weak));

namespace quire::kernels {
namespace {

// The number is OpenMP's for calls from this thread alone.
void use_one_thread() {
  thread_local bool done = false;
  if (done) return;
  if (omp_set_num_threads != nullptr) omp_set_num_threads(1);
  done = true;
}

void scale(const Gemm& args) {
  for (std::int64_t i = 0; i < args.m; ++i) {
    for (std::int64_t j = 0; j < args.n; ++j) {
      float& c = args.c[i * args.c_stride + j];
      c = args.beta == 0.0f ? 0.0f : args.beta * c;
    }
  }
}

}  // namespace

void gemm(const Gemm& args) {
  if (args.m == 0 || args.n == 0) return;
  if (args.k == 0) return scale(args);
  use_one_thread();
  const dnnl_status_t status =
      dnnl_sgemm(args.transpose_a ? 'T' : 'N', args.transpose_b ? 'T' : 'N',
                 args.m, args.n, args.k, args.alpha, args.a, args.a_stride,
                 args.b, args.b_stride, args.beta, args.c, args.c_stride);
  if (status == dnnl_success) return;
  throw SystemError("oneDNN's sgemm failed with status " +
                    std::to_string(static_cast<int>(status)) +
                    "; 1 is out of memory");
}

}  // namespace quire::kernels
