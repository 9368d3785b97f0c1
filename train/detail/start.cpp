#include "quire/train/detail/start.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

#include "quire/checkpoint/checkpoint.h"
#include "quire/checkpoint/files.h"
#include "quire/checkpoint/run_folder.h"
#include "quire/convert/weights.h"
#include "quire/core/cores.h"
#include "quire/core/error.h"
#include "quire/core/hash.h"
#include "quire/core/text.h"
#include "quire/train/detail/memory_plan.h"
#include "quire/train/detail/state.h"

namespace quire::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Other updates have other bits, on the same machine too.
bool is_of_optimizer(const std::string& difference) {
  return difference.starts_with("optimizer.");
}

// Values without their optimizer: what a conversion writes.
bool has_values_alone(const checkpoint::Manifest& manifest) {
  const auto has_value_alone = [](const auto& parameter) {
    return parameter.states.size() == 1 && parameter.states[0].kind == "value";
  };
  const auto is_trainable = &checkpoint::ManifestParameter::trainable;
  return std::ranges::any_of(manifest.parameters, is_trainable) &&
         std::ranges::all_of(manifest.parameters, has_value_alone);
}

// What is meant where a path is no checkpoint: "; ...", or nothing.
std::string meant_by(const std::string& path) {
  using convert::Format;
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    return "; or auto, for the newest step of the run's own folder";
  std::string model = path;
  if (path.ends_with(".safetensors"))
    model = fs::path(path).parent_path().string();
  if (model.empty()) model = ".";
  try {
    const Format format = convert::format_of(model);
    if (format == Format::kQuire)
      return model == path ? "" : fmt::format("; name its folder, {}", model);
    if (format == Format::kGguf) return "";
  } catch (const std::exception&) {
    return "";
  }
  return fmt::format(
      "; {} is a model without the state of a run: start a new run from it, "
      "with model.from",
      model);
}

checkpoint::Checkpoint opened(const std::string& path) {
  try {
    return checkpoint::Checkpoint::open(path);
  } catch (const UsageError& error) {
    throw UsageError(error.what() + meant_by(path));
  }
}

// What only rank 0 looks at.
class Settling {
 public:
  Settling(const Blueprint& blueprint, std::uint64_t data)
      : blueprint_(&blueprint), data_(data) {}

  Start settle(const TrainOptions& options, const PlanQuery& query) {
    require_no_file();
    find_checkpoint(options.resume);
    if (!start_.checkpoint.empty()) read_checkpoint();
    const MemoryPlan plan = plan_memory(*blueprint_, query);
    if (!plan.fits) throw UsageError(explain_refusal(*blueprint_, query, plan));
    start_.wave = plan.wave;
    start_.predicted_peak_bytes = plan.largest.memory.total_peak;
    return std::move(start_);
  }

  Start settle_older(const Damaged& damaged) {
    const Start& before = damaged.start;
    start_ = {.checkpoint = "",
              .passed_over = before.passed_over,
              .threads = before.threads,
              .wave = before.wave,
              .predicted_peak_bytes = before.predicted_peak_bytes};
    start_.passed_over.push_back(
        fmt::format("{} {}: {}", before.checkpoint,
                    damaged.damage.kind == checkpoint::Damage::Kind::kUnread
                        ? "is passed over"
                        : "is damaged",
                    damaged.damage.message));
    find_newest(before.progress.step);
    if (!start_.checkpoint.empty()) read_checkpoint();
    return std::move(start_);
  }

 private:
  const RunConfig& config() const { return blueprint_->config; }

  void require_no_file() const {
    std::error_code ignored;
    const std::string& output = config().output;
    if (fs::exists(output, ignored) && !checkpoint::is_folder(output))
      throw UsageError(fmt::format(
          "output is {}, which is a file; expected the run's folder", output));
  }

  void find_checkpoint(const std::string& resume) {
    if (resume == "auto") {
      find_newest(std::numeric_limits<std::int64_t>::max());
      if (start_.checkpoint.empty() && !start_.passed_over.empty())
        throw UsageError(none_left(config().output, start_.passed_over));
    } else if (resume == "never") {
      checkpoint::require_fresh(config().output);
    } else {
      open(resume);
      if (is_of_this_run())
        warn_of_newer_steps();
      else
        checkpoint::require_fresh(config().output);
    }
  }

  // The newest whole step before `below`; those behind it are passed over.
  void find_newest(std::int64_t below) {
    if (!checkpoint::is_folder(config().output)) return;
    const auto steps = checkpoint::list_steps(config().output);
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      if (step->step >= below) continue;
      if (step->problem.empty()) {
        start_.checkpoint = step->path;
        return;
      }
      start_.passed_over.push_back(
          fmt::format("{} is passed over: {}", step->path, step->problem));
    }
  }

  void open(const std::string& path) {
    const auto saved = opened(path);
    start_.checkpoint = saved.folder();
    start_.passed_over = saved.skipped();
  }

  // It stands in the run's own folder.
  bool is_of_this_run() const {
    std::error_code ignored;
    const fs::path parent = fs::absolute(start_.checkpoint).parent_path();
    return fs::equivalent(parent, config().output, ignored);
  }

  void warn_of_newer_steps() {
    const std::int64_t own =
        checkpoint::read_manifest(start_.checkpoint).progress.step;
    for (const auto& step : checkpoint::list_steps(config().output)) {
      if (step.step <= own || !step.problem.empty()) continue;
      start_.warnings.push_back(fmt::format(
          "{} is newer than what is resumed; it stays until this run saves "
          "the same step",
          step.path));
    }
  }

  void read_checkpoint() {
    const auto manifest = checkpoint::read_manifest(start_.checkpoint);
    const std::string source =
        start_.checkpoint + "/" + std::string(checkpoint::kManifestName);
    if (has_values_alone(manifest))
      throw UsageError(fmt::format(
          "{} holds values of parameters and no states of an optimizer: it "
          "cannot be resumed; start a new run from it with model.from",
          start_.checkpoint));
    ConfigDifferences differences =
        compare(parse_config(manifest.config, source, {}), config());
    compare_data(manifest, differences);
    compare_position(manifest, differences);
    refuse(differences.refused);
    for (const std::string& line : differences.warned)
      start_.warnings.push_back(line);
    start_.progress = manifest.progress;
    if (std::ranges::none_of(differences.warned, is_of_optimizer))
      start_.kernels = manifest.kernels;
  }

  void compare_data(const checkpoint::Manifest& manifest,
                    ConfigDifferences& differences) const {
    const auto note = manifest.notes.find(kDataNote);
    if (note == manifest.notes.end() || note->second == to_hex(data_)) return;
    differences.refused.push_back(fmt::format(
        "data.train: checkpoint has a text of hash {}, {} has hash {}",
        note->second, config().data.train, to_hex(data_)));
  }

  void compare_position(const checkpoint::Manifest& manifest,
                        ConfigDifferences& differences) const {
    const auto& progress = manifest.progress;
    const std::int64_t samples = blueprint_->step_samples();
    if (progress.position % samples == 0 &&
        progress.position / samples == progress.step)
      return;
    differences.refused.push_back(fmt::format(
        "position: checkpoint has {} samples after {} steps, configuration "
        "has {} a step",
        progress.position, progress.step, samples));
  }

  void refuse(const std::vector<std::string>& lines) const {
    if (lines.empty()) return;
    throw UsageError(fmt::format(
        "{} is of another run; give it the configuration it was saved with, "
        "or start a new run in another folder{}",
        start_.checkpoint, listed(lines)));
  }

  const Blueprint* blueprint_;
  std::uint64_t data_;
  Start start_ = {};
};

std::string as_text(const Start& start) {
  const auto& progress = start.progress;
  return Json{{"checkpoint", start.checkpoint},
              {"step", progress.step},
              {"updates", progress.updates},
              {"position", progress.position},
              {"seed", progress.seed},
              {"kernels", start.kernels},
              {"passed_over", start.passed_over},
              {"warnings", start.warnings},
              {"wave", start.wave},
              {"predicted_peak_bytes", start.predicted_peak_bytes}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Start parse_start(const std::string& text) {
  const Json json = Json::parse(text);
  return {.checkpoint = json.at("checkpoint"),
          .progress = {.step = json.at("step"),
                       .updates = json.at("updates"),
                       .position = json.at("position"),
                       .seed = json.at("seed")},
          .kernels = json.at("kernels"),
          .passed_over = json.at("passed_over"),
          .warnings = json.at("warnings"),
          .wave = json.at("wave"),
          .predicted_peak_bytes = json.at("predicted_peak_bytes")};
}

}  // namespace

std::string none_left(const std::string& folder,
                      const std::vector<std::string>& passed_over) {
  return fmt::format(
      "{} holds no checkpoint that can be resumed; restore one of them, or "
      "start a new run in another folder{}",
      folder, listed(passed_over));
}

Start settle(const Blueprint& blueprint, const TrainOptions& options,
             std::uint64_t data, Together& together) {
  together.communicator().enter("plan");
  const RunConfig& config = blueprint.config;
  const int ranks = together.communicator().size();
  const int local = options.local_ranks > 0 ? options.local_ranks : ranks;
  const int threads =
      config.threads > 0 ? config.threads : default_threads(local);
  const std::string text = together.from_root([&] {
    return as_text(Settling(blueprint, data)
                       .settle(options, {.ranks = ranks,
                                         .threads = threads,
                                         .budget_bytes = config.budget_bytes}));
  });
  Start start = parse_start(text);
  start.threads = threads;
  return start;
}

Start fall_back(const Blueprint& blueprint, std::uint64_t data,
                const Damaged& damaged, Together& together) {
  Start start = parse_start(together.from_root([&] {
    return as_text(Settling(blueprint, data).settle_older(damaged));
  }));
  start.threads = damaged.start.threads;
  return start;
}

void prepare_folder(const RunConfig& config) {
  checkpoint::make_folders(config.output, {});
  if (::access(config.output.c_str(), W_OK | X_OK) != 0) {
    throw UsageError(
        fmt::format("{} cannot be written into: {}; name another folder",
                    config.output, std::generic_category().message(errno)));
  }
  const std::string name(checkpoint::kConfigName);
  const std::string temporary = config.output + "/." + name + ".tmp";
  std::error_code ignored;
  fs::remove(temporary, ignored);
  checkpoint::write_text(temporary, resolved_json(config), {});
  checkpoint::rename_path(temporary, config.output + "/" + name, {});
}

}  // namespace quire::train
