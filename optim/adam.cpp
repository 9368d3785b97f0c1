#include "quire/optim/adam.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "quire/core/error.h"
#include "quire/kernels/optimizer_update.h"
#include "quire/optim/detail/checks.h"

namespace quire::optim {
namespace {

enum class Decay { kApart, kInGradient };

// It is added in fp32: what is zero there divides 0 by 0 at the first update.
void require_eps(double eps) {
  constexpr double kLeast = std::numeric_limits<float>::min();
  if (std::isfinite(eps) && eps >= kLeast) return;
  throw UsageError(fmt::format(
      "eps is {}; expected a finite number above 0, at least {:.3g}", eps,
      kLeast));
}

class Adam final : public Optimizer {
 public:
  Adam(const AdamOptions& options, Decay decay)
      : options_(options), decay_(decay) {
    require_fraction("betas[0]", options.beta1);
    require_fraction("betas[1]", options.beta2);
    require_eps(options.eps);
  }

  std::string_view type() const override {
    return decay_ == Decay::kApart ? "adamw" : "adam";
  }
  std::string settings() const override {
    return fmt::format("betas {} {} eps {}", options_.beta1, options_.beta2,
                       options_.eps);
  }
  std::vector<std::string> states() const override {
    return {"exp_avg", "exp_avg_sq"};
  }

  void update(const Range& range, const Scalars& scalars,
              Stream& stream) const override {
    require_update(*this, range, scalars);
    const double step = static_cast<double>(scalars.step);
    kernels::adam_update({.grad = range.gradient,
                          .master = range.master,
                          .m = range.states[0],
                          .v = range.states[1],
                          .published = range.published,
                          .lr = scalars.lr,
                          .beta1 = options_.beta1,
                          .beta2 = options_.beta2,
                          .eps = options_.eps,
                          .decay = scalars.weight_decay,
                          .correction1 = 1.0 - std::pow(options_.beta1, step),
                          .correction2 = 1.0 - std::pow(options_.beta2, step),
                          .decoupled = decay_ == Decay::kApart,
                          .grad_scale = scalars.gradient_scale},
                         stream);
  }

 private:
  AdamOptions options_;
  Decay decay_;
};

}  // namespace

std::unique_ptr<Optimizer> adamw(const AdamOptions& options) {
  return std::make_unique<Adam>(options, Decay::kApart);
}

std::unique_ptr<Optimizer> adam(const AdamOptions& options) {
  return std::make_unique<Adam>(options, Decay::kInGradient);
}

}  // namespace quire::optim
