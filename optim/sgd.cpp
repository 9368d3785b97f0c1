#include "quire/optim/sgd.h"

#include <fmt/format.h>

#include "quire/core/error.h"
#include "quire/kernels/optimizer_update.h"
#include "quire/optim/detail/checks.h"

namespace quire::optim {
namespace {

class Sgd final : public Optimizer {
 public:
  explicit Sgd(const SgdOptions& options) : options_(options) {
    require_fraction("momentum", options.momentum);
    if (options.nesterov && options.momentum == 0.0) {
      throw UsageError(
          "nesterov is true with momentum 0; expected a momentum above 0, or "
          "nesterov false");
    }
  }

  std::string_view type() const override { return "sgd"; }
  std::string settings() const override {
    return fmt::format("momentum {} nesterov {}", options_.momentum,
                       options_.nesterov);
  }
  std::vector<std::string> states() const override {
    if (options_.momentum == 0.0) return {};
    return {"momentum_buffer"};
  }

  void update(const Range& range, const Scalars& scalars,
              Stream& stream) const override {
    require_update(*this, range, scalars);
    kernels::sgd_update(
        {.grad = range.gradient,
         .master = range.master,
         .velocity = range.states.empty() ? Tensor() : range.states[0],
         .published = range.published,
         .lr = scalars.lr,
         .momentum = options_.momentum,
         .decay = scalars.weight_decay,
         .nesterov = options_.nesterov,
         .grad_scale = scalars.gradient_scale},
        stream);
  }

 private:
  SgdOptions options_;
};

}  // namespace

std::unique_ptr<Optimizer> sgd(const SgdOptions& options) {
  return std::make_unique<Sgd>(options);
}

}  // namespace quire::optim
