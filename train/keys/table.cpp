#include <algorithm>
#include <array>

#include "quire/train/keys/kinds.h"

namespace quire::train {
namespace {

// A plan of this many is made within seconds.
constexpr std::int64_t kMostLanes = 1 << 14;

Key needed(Key key) {
  key.needed = true;
  return key;
}

Key on_resume(OnResume on_resume, Key key) {
  key.on_resume = on_resume;
  return key;
}

Key for_adam(Key key) {
  key.optimizers = {"adamw", "adam"};
  return key;
}

Key for_sgd(Key key) {
  key.optimizers = {"sgd"};
  return key;
}

using Keys = std::vector<Key>;

Keys run_keys() {
  return {
      on_resume(OnResume::kRefused, seed_key()),
      on_resume(OnResume::kWarned,
                needed(whole(
                    {"steps", "of the whole run"}, {.least = 1},
                    [](RunConfig & c) -> auto& { return c.steps; }))),
      whole(
          {"threads",
           "of a rank; 0: the usable cores, shared out among the ranks"},
          {.least = 0, .most = 1024},
          [](RunConfig & c) -> auto& { return c.threads; }),
      text(
          {"output",
           "the run's folder, for checkpoints and metrics; needed unless "
           "--out gives it"},
          [](RunConfig & c) -> auto& { return c.output; }),
  };
}

Keys data_keys() {
  return {
      needed(text(
          {"data.train",
           "token file, pattern of files, or path of numbered shards"},
          [](RunConfig & c) -> auto& { return c.data.train; })),
      text(
          {"data.validation", "the same, held out; left out: no validation"},
          [](RunConfig & c) -> auto& { return c.data.validation; }),
      on_resume(OnResume::kRefused,
                needed(whole(
                    {"data.sequence",
                     "tokens of a sample; at most the model's context"},
                    {.least = 1, .most = kMostTokens},
                    [](RunConfig & c) -> auto& { return c.data.sequence; }))),
  };
}

Keys batch_keys() {
  return {
      on_resume(OnResume::kRefused,
                needed(whole(
                    {"batch.lanes",
                     "parts of a step's batch; whatever could depend on the "
                     "number of ranks is keyed by them"},
                    {.least = 1, .most = kMostLanes},
                    [](RunConfig & c) -> auto& { return c.batch.lanes; }))),
      on_resume(
          OnResume::kRefused,
          needed(whole(
              {"batch.lane_samples", "samples of a lane"},
              {.least = 1, .most = kMostTokens},
              [](RunConfig & c) -> auto& { return c.batch.lane_samples; }))),
      wave_key(),
  };
}

Key optimizer_type_key() {
  static const std::vector<std::string> kNames = {"adamw", "adam", "sgd"};
  return needed(choice(
      {"optimizer.type", "adam adds decay to the gradient, adamw does not"},
      kNames,
      [](RunConfig& config, std::size_t i) {
        config.optimizer.type = kNames[i];
      },
      [](const RunConfig& config) {
        return static_cast<std::size_t>(
            std::find(kNames.begin(), kNames.end(), config.optimizer.type) -
            kNames.begin());
      }));
}

Keys optimizer_keys() {
  Keys keys = {
      optimizer_type_key(),
      needed(real(
          {"optimizer.lr", "learning rate before the schedule"}, kFromZero,
          [](RunConfig & c) -> auto& { return c.optimizer.lr; })),
      for_adam(betas_key()),
      for_adam(real(
          {"optimizer.eps", "added to the root of the second mean"}, kAboveZero,
          [](RunConfig & c) -> auto& { return c.optimizer.eps; })),
      for_sgd(real(
          {"optimizer.momentum", "of the gradient"}, kFraction,
          [](RunConfig & c) -> auto& { return c.optimizer.momentum; })),
      for_sgd(flag(
          {"optimizer.nesterov", "needs momentum"},
          [](RunConfig & c) -> auto& { return c.optimizer.nesterov; })),
      real(
          {"optimizer.weight_decay", "of matrices; see groups"}, kFromZero,
          [](RunConfig & c) -> auto& { return c.optimizer.weight_decay; }),
      clip_norm_key(),
      groups_key(),
  };
  for (Key& key : keys) {
    const bool decides_states =
        key.name == "optimizer.type" || key.name == "optimizer.momentum";
    key.on_resume = decides_states ? OnResume::kOfStates : OnResume::kWarned;
  }
  return keys;
}

Key schedule_type_key() {
  using Type = optim::Schedule::Type;
  return choice(
      {"schedule.type", "of the learning rate after the warm-up"},
      {"constant", "linear", "cosine"},
      [](RunConfig& config, std::size_t i) {
        config.schedule.type = static_cast<Type>(i);
      },
      [](const RunConfig& config) {
        return static_cast<std::size_t>(config.schedule.type);
      });
}

Keys schedule_keys() {
  Keys keys = {
      schedule_type_key(),
      whole(
          {"schedule.warmup", "updates over which the rate rises from 0"},
          {.least = 0},
          [](RunConfig & c) -> auto& { return c.schedule.warmup; }),
      real(
          {"schedule.final_ratio",
           "part of the rate that linear and cosine end with"},
          kUnit, [](RunConfig & c) -> auto& { return c.schedule.final_ratio; }),
  };
  for (Key& key : keys) key.on_resume = OnResume::kWarned;
  return keys;
}

Keys zero_keys() {
  return {
      whole(
          {"zero.stage",
           "what is sharded: 0 nothing, 1 optimizer states, 2 gradients too, "
           "3 parameters too"},
          {.least = 0, .most = 3},
          [](RunConfig & c) -> auto& { return c.stage; }),
      whole(
          {"zero.prefetch",
           "exchanges beside the segment that runs: gathers ahead and a reduce "
           "in flight"},
          {.least = 0, .most = 1024},
          [](RunConfig & c) -> auto& { return c.prefetch; }),
  };
}

Key type_key(Described what, Field<DType> field) {
  static constexpr std::array kTypes = {DType::kF32, DType::kBF16};
  Key key = choice(
      std::move(what), {"fp32", "bf16"},
      [field](RunConfig& config, std::size_t i) { field(config) = kTypes[i]; },
      [field](RunConfig config) {
        return std::size_t{field(config) == DType::kBF16};
      });
  return on_resume(OnResume::kRefused, std::move(key));
}

Keys precision_keys() {
  return {
      type_key(
          {"precision.compute",
           "of activations and gathered values; masters are fp32"},
          [](RunConfig & c) -> auto& { return c.precision.compute; }),
      type_key(
          {"precision.wire",
           "what a lane's gradient is rounded to before it is added"},
          [](RunConfig & c) -> auto& { return c.precision.wire; }),
      choice(
          {"precision.recompute",
           "layer: a layer's forward runs again before its backward, so that "
           "only what enters it is kept"},
          {"none", "layer"},
          [](RunConfig& config, std::size_t i) {
            config.precision.recompute = static_cast<engine::Recompute>(i);
          },
          [](const RunConfig& config) {
            return static_cast<std::size_t>(config.precision.recompute);
          }),
  };
}

Key when_busy_key() {
  return choice(
      {"checkpoint.when_busy",
       "what a save does while an earlier one is still being written: wait for "
       "it, or refuse: it is left out, with a warning"},
      {"wait", "refuse"},
      [](RunConfig& config, std::size_t i) {
        config.checkpoint_when_busy = static_cast<RunConfig::WhenBusy>(i);
      },
      [](const RunConfig& config) {
        return static_cast<std::size_t>(config.checkpoint_when_busy);
      });
}

Keys memory_and_checkpoint_keys() {
  return {
      budget_key(),
      checkpoint_every_key(),
      whole(
          {"checkpoint.keep", "newest checkpoints that stay; 0: all"},
          {.least = 0, .most = 1 << 20},
          [](RunConfig & c) -> auto& { return c.checkpoint_keep; }),
      whole(
          {"checkpoint.keep_every",
           "steps: checkpoints of their multiples stay, too; 0: none besides"},
          {.least = 0},
          [](RunConfig & c) -> auto& { return c.checkpoint_keep_every; }),
      flag(
          {"checkpoint.async",
           "the run goes on while a copy of its state is written; the copy "
           "takes memory of every rank, within memory.budget"},
          [](RunConfig & c) -> auto& { return c.checkpoint_async; }),
      when_busy_key(),
  };
}

Keys service_keys() {
  return {
      whole(
          {"evaluate.every",
           "steps between validations; 0: at the end alone, if there is "
           "validation data"},
          {.least = 0},
          [](RunConfig & c) -> auto& { return c.evaluate_every; }),
      whole(
          {"log.every", "steps between lines of the log"}, {.least = 1},
          [](RunConfig & c) -> auto& { return c.log_every; }),
      real(
          {"comm.timeout_s", "seconds that a rank waits for its peers"},
          {"a number above 0, of at most 1e6",
           [](double seconds) { return seconds > 0 && seconds <= 1e6; }},
          [](RunConfig & c) -> auto& { return c.timeout_s; }),
  };
}

Keys all_keys() {
  Keys all;
  for (auto section : {run_keys, model_keys, data_keys, batch_keys,
                       optimizer_keys, schedule_keys, zero_keys, precision_keys,
                       memory_and_checkpoint_keys, service_keys}) {
    for (Key& key : section()) all.push_back(std::move(key));
  }
  return all;
}

}  // namespace

std::span<const Key> key_table() {
  static const Keys kTable = all_keys();
  return kTable;
}

}  // namespace quire::train
