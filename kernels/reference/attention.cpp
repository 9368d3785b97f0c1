#include "quire/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "quire/core/divide.h"
#include "quire/kernels/reference/elements.h"

namespace quire::kernels::reference {
namespace {

// Element d of token t of a head, in doubles.
struct Reader {
  const AttentionShape& shape;
  std::int64_t b;

  std::int64_t at(const Heads& heads, std::int64_t t, std::int64_t h,
                  std::int64_t d) const {
    return (b * shape.sequence + t) * heads.stride + heads.offset +
           h * shape.width + d;
  }
  double operator()(const Heads& heads, std::int64_t t, std::int64_t h,
                    std::int64_t d) const {
    return load(heads.data, at(heads, t, h, d));
  }
  // The vectors of two heads at a token each.
  struct Place {
    const Heads& heads;
    std::int64_t t, h;
  };
  double dot(const Place& x, const Place& z) const {
    double sum = 0.0;
    for (std::int64_t d = 0; d < shape.width; ++d)
      sum += (*this)(x.heads, x.t, x.h, d) * (*this)(z.heads, z.t, z.h, d);
    return sum;
  }
};

// Query t sees the keys [begin, end).
struct Seen {
  Seen(const AttentionShape& shape, std::int64_t t)
      : begin(shape.window == 0
                  ? 0
                  : std::max<std::int64_t>(0, t - shape.window + 1)),
        end(shape.causal ? t + 1 : shape.sequence) {}
  std::int64_t begin, end;
};

// What dropout multiplies probability j of a row (b, h, i) with.
double factor(const AttentionShape& shape, std::int64_t row, std::int64_t j) {
  if (shape.dropout == 0.0f) return 1.0;
  const std::int64_t quad = row * divide_up(shape.sequence, 4) + j / 4;
  const auto words = shape.key.block(static_cast<std::uint64_t>(quad));
  const bool kept =
      uniform(words[static_cast<std::size_t>(j % 4)]) >= shape.dropout;
  return kept ? 1.0 / (1.0 - shape.dropout) : 0.0;
}

std::int64_t row_of(const AttentionShape& shape, std::int64_t b, std::int64_t h,
                    std::int64_t t) {
  return (b * shape.heads + h) * shape.sequence + t;
}

// The probabilities of row (b, h, t) over the keys it sees; stores their lse.
std::vector<double> probabilities(const AttentionForward& args, std::int64_t b,
                                  std::int64_t h, std::int64_t t) {
  const AttentionShape& shape = args.shape;
  const std::int64_t j = h / (shape.heads / shape.kv_heads);
  const Reader read{shape, b};
  const Seen seen(shape, t);
  std::vector<double> p;
  for (std::int64_t s = seen.begin; s < seen.end; ++s)
    p.push_back(shape.scale * read.dot({args.q, t, h}, {args.k, s, j}));
  const double top = *std::max_element(p.begin(), p.end());
  double sum = 0.0;
  for (double& value : p) sum += value = std::exp(value - top);
  for (double& value : p) value /= sum;
  store(args.lse, row_of(shape, b, h, t),
        static_cast<float>(top + std::log(sum)));
  return p;
}

void forward_row(const AttentionForward& args, std::int64_t b, std::int64_t h,
                 std::int64_t t) {
  const AttentionShape& shape = args.shape;
  const std::int64_t j = h / (shape.heads / shape.kv_heads);
  const Reader read{shape, b};
  const Seen seen(shape, t);
  const auto p = probabilities(args, b, h, t);
  for (std::int64_t d = 0; d < shape.width; ++d) {
    double sum = 0.0;
    for (std::int64_t s = seen.begin; s < seen.end; ++s)
      sum += p[static_cast<std::size_t>(s - seen.begin)] *
             factor(shape, row_of(shape, b, h, t), s) * read(args.v, s, j, d);
    store(args.y.data, read.at(args.y, t, h, d), static_cast<float>(sum));
  }
}

// Sums of one sample and key/value head, over all query heads of the group.
class Gradient {
 public:
  Gradient(const AttentionBackward& args, std::int64_t b, std::int64_t kv_head)
      : args_(args),
        shape_(args.shape),
        read_{args.shape, b},
        kv_head_(kv_head),
        dk_(static_cast<std::size_t>(shape_.sequence * shape_.width)),
        dv_(dk_.size()) {}

  void run() {
    const std::int64_t group = shape_.heads / shape_.kv_heads;
    for (std::int64_t g = 0; g < group; ++g) {
      for (std::int64_t t = 0; t < shape_.sequence; ++t)
        add_row(kv_head_ * group + g, t);
    }
    for (std::int64_t e = 0; e < std::ssize(dk_); ++e) {
      const std::int64_t s = e / shape_.width, d = e % shape_.width;
      store(args_.dk.data, read_.at(args_.dk, s, kv_head_, d),
            static_cast<float>(dk_[static_cast<std::size_t>(e)]));
      store(args_.dv.data, read_.at(args_.dv, s, kv_head_, d),
            static_cast<float>(dv_[static_cast<std::size_t>(e)]));
    }
  }

 private:
  // dv += p f dy; ds = p (f dy.v - dy.y); dq = scale ds k; dk += scale ds q.
  void add_row(std::int64_t h, std::int64_t t) {
    const std::int64_t row = row_of(shape_, read_.b, h, t);
    const double delta = read_.dot({args_.dy, t, h}, {args_.y, t, h});
    std::vector<double> dq(static_cast<std::size_t>(shape_.width));
    const Seen seen(shape_, t);
    for (std::int64_t s = seen.begin; s < seen.end; ++s) {
      const double score =
          shape_.scale * read_.dot({args_.q, t, h}, {args_.k, s, kv_head_});
      const double p = std::exp(score - load(args_.lse, row));
      const double f = factor(shape_, row, s);
      const double dp = read_.dot({args_.dy, t, h}, {args_.v, s, kv_head_});
      const double ds = shape_.scale * p * (f * dp - delta);
      for (std::int64_t d = 0; d < shape_.width; ++d) {
        const auto at = static_cast<std::size_t>(s * shape_.width + d);
        dv_[at] += p * f * read_(args_.dy, t, h, d);
        dk_[at] += ds * read_(args_.q, t, h, d);
        dq[static_cast<std::size_t>(d)] += ds * read_(args_.k, s, kv_head_, d);
      }
    }
    for (std::int64_t d = 0; d < shape_.width; ++d)
      store(args_.dq.data, read_.at(args_.dq, t, h, d),
            static_cast<float>(dq[static_cast<std::size_t>(d)]));
  }

  const AttentionBackward& args_;
  const AttentionShape& shape_;
  Reader read_;
  std::int64_t kv_head_;
  std::vector<double> dk_, dv_;
};

}  // namespace

void attention_forward(const AttentionForward& args, Stream& stream) {
  check(args);
  if (args.lse.is_meta()) return;
  stream.submit([args] {
    for (std::int64_t r = 0; r < args.lse.numel(); ++r) {
      const std::int64_t t = r % args.shape.sequence;
      const std::int64_t h = r / args.shape.sequence % args.shape.heads;
      forward_row(args, r / args.shape.sequence / args.shape.heads, h, t);
    }
  });
}

void attention_backward(const AttentionBackward& args, Stream& stream) {
  check(args);
  if (args.lse.is_meta()) return;
  stream.submit([args] {
    for (std::int64_t b = 0; b < args.shape.batch; ++b) {
      for (std::int64_t j = 0; j < args.shape.kv_heads; ++j)
        Gradient(args, b, j).run();
    }
  });
}

}  // namespace quire::kernels::reference
