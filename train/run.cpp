#include "quire/train/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "quire/data/evaluation_windows.h"
#include "quire/data/loader.h"
#include "quire/engine/engine.h"
#include "quire/train/detail/blueprint.h"
#include "quire/train/detail/fingerprint.h"
#include "quire/train/detail/initial_weights.h"
#include "quire/train/detail/saves.h"
#include "quire/train/detail/speed.h"
#include "quire/train/detail/start.h"
#include "quire/train/detail/state.h"
#include "quire/train/detail/stop_signal.h"
#include "quire/train/detail/together.h"
#include "quire/train/detail/token_source.h"
#include "quire/train/detail/validation.h"

namespace quire::train {
namespace {

constexpr int kMostSkips = 10;  // in a row

bool every(std::int64_t step, std::int64_t interval) {
  return interval > 0 && step % interval == 0;
}

std::string reason_of(engine::StepResult::Skip skip) {
  switch (skip) {
    case engine::StepResult::Skip::kNone:
      return "";
    case engine::StepResult::Skip::kNoWeight:
      return "no target of it counts";
    case engine::StepResult::Skip::kNotFinite:
      return "the loss or the gradient is not finite";
  }
  return "unknown";
}

// What a rank adds to the result.
struct RankFigures {
  std::int64_t peak_bytes;
  comm::Traffic predicted, measured;
};

// What the ranks tell one another between two steps.
struct Boundary {
  bool stop;   // a signal came to any
  bool saved;  // on all, what became of the save under way is known
};

class Run {
 public:
  Run(const RunConfig& config, const TrainOptions& options,
      comm::Communicator& communicator, Sink& sink);

  bool finished() const { return stopped_ || step_ >= config().steps; }
  void step();
  TrainResult result();
  // Before the run ends by an error.
  void let_save_end(const std::string& message, int exit_code) {
    saves_.let_end(message, exit_code);
  }
  // So that the world ends by an exit code that it does not know.
  void end_diverged(const std::string& message) {
    let_save_end(message, kDivergedExit);
    communicator_.abort({.rank = communicator_.rank(),
                         .step = step_,
                         .message = message,
                         .exit_code = kDivergedExit});
  }

 private:
  const RunConfig& config() const { return blueprint_.config; }
  bool is_root() const { return communicator_.rank() == 0; }
  bool is_last() const { return step_ >= config().steps; }
  void tell(const Event& event) {
    if (is_root()) sink_.write(event);
  }
  void warn(std::string text) {
    tell(MessageEvent{MessageEvent::Level::kWarning, std::move(text)});
  }
  void locate(std::string_view phase) {
    communicator_.locate({.step = step_, .phase = phase});
  }

  void load(const TrainOptions& options);
  void load_origin();
  void announce();
  void announce_resume();
  engine::StepResult timed_step();
  void report(const engine::StepResult& result, double seconds);
  void count_skip(const std::string& reason);
  [[noreturn]] void diverge(const std::string& reason) const;
  void evaluate_if_due();
  Boundary meet();
  void save_if_due();
  RankState state() { return {&blueprint_.model, &engine_, &together_}; }
  StateLabel label() const;
  void add_figures(TrainResult& result);
  void require_as_predicted(const std::vector<RankFigures>& figures,
                            const TrainResult& result) const;

  StopSignal stop_;
  Blueprint blueprint_;
  comm::Communicator& communicator_;
  // Of what ran in this world before.
  comm::Traffic earlier_ = communicator_.record().plan_traffic();
  Sink& sink_;
  Together together_;
  TokenSource train_;
  std::optional<data::EvaluationWindows> validation_;
  Start start_;
  Allocator allocator_;
  ThreadPool pool_;
  engine::Engine engine_;
  data::Loader loader_;
  Saves saves_;
  Speed speed_;
  std::vector<std::string> origin_;           // what was taken from it
  std::map<std::string, std::string> notes_;  // for checkpoints
  std::uint64_t kernels_ = 0;                 // the bits of this machine
  std::int64_t step_ = 0;                     // finished
  std::int64_t first_step_ = 0;
  std::int64_t skipped_ = 0;
  int skips_in_a_row_ = 0;
  bool stopped_ = false;
  double loss_ = std::numeric_limits<double>::quiet_NaN();
  std::optional<TrainResult::Validation> evaluated_;
};

std::optional<data::EvaluationWindows> open_validation(const RunConfig& config,
                                                       Together& together) {
  if (config.data.validation.empty()) return std::nullopt;
  const auto source = open_tokens(config.data.validation,
                                  models::vocab_of(config.model), together);
  return data::EvaluationWindows({.tokens = source.tokens,
                                  .sequence = config.data.sequence,
                                  .lane_samples = config.batch.lane_samples});
}

Run::Run(const RunConfig& given, const TrainOptions& options,
         comm::Communicator& communicator, Sink& sink)
    : blueprint_(given),
      communicator_(communicator),
      sink_(sink),
      together_(communicator),
      train_(open_tokens(config().data.train, models::vocab_of(config().model),
                         together_)),
      validation_(open_validation(config(), together_)),
      start_(settle(blueprint_, options, train_.content, together_)),
      allocator_({.budget_bytes = config().budget_bytes,
                  .owner = fmt::format("rank {}", communicator.rank())}),
      pool_(start_.threads),
      engine_({.model = &blueprint_.model,
               .loss = &blueprint_.loss,
               .optimizer = blueprint_.optimizer.get(),
               .options = engine_options(config(), start_.wave),
               .communicator = &communicator,
               .allocator = &allocator_,
               .pool = &pool_}),
      loader_({.tokens = train_.tokens,
               .sequence = config().data.sequence,
               .lanes = config().batch.lanes,
               .lane_samples = config().batch.lane_samples,
               .seed = config().seed}),
      saves_({.blueprint = &blueprint_,
              .state = state(),
              .observer = options.observer,
              .allocator = &allocator_,
              .pool = &pool_,
              .tell = [this](const Event& event) { tell(event); }}),
      speed_(blueprint_.step_samples() * config().data.sequence) {
  kernels_ = engine_.fingerprint_kernels(blueprint_.lane());
  const bool resumes = !start_.checkpoint.empty();
  // Before the folder is made: of damage nothing is left in a new one.
  resumes ? load(options) : load_origin();
  locate("start");
  if (is_root()) prepare_folder(config());
  announce();
  if (resumes) announce_resume();
}

void Run::announce() {
  const bool resumed = !start_.checkpoint.empty();
  tell(RunEvent{.resolved_config = resolved_json(config()),
                .ranks = communicator_.size(),
                .threads = start_.threads,
                .wave = start_.wave,
                .steps = config().steps,
                .predicted_peak_bytes = start_.predicted_peak_bytes,
                .resumed_from = resumed ? std::optional(start_.progress.step)
                                        : std::nullopt});
  for (const std::string& line : start_.passed_over) warn(line);
  if (!start_.passed_over.empty())
    warn(fmt::format("{} is used instead", start_.checkpoint));
  for (const std::string& warning : start_.warnings) warn(warning);
  for (const std::string& line : origin_)
    tell(MessageEvent{MessageEvent::Level::kInfo, line});
}

void Run::load(const TrainOptions& options) {
  for (;;) {
    step_ = first_step_ = start_.progress.step;
    locate("load");
    auto damage = resume_state(state(), start_.checkpoint);
    if (!damage) break;
    if (options.resume != "auto")
      checkpoint::throw_damage(*damage, communicator_);
    start_ = fall_back(blueprint_, train_.content,
                       {.start = start_, .damage = damage->damage}, together_);
    if (!start_.checkpoint.empty()) continue;
    damage->damage.message = none_left(config().output, start_.passed_over);
    checkpoint::throw_damage(*damage, communicator_);
  }
  notes_ = checkpoint::read_manifest(start_.checkpoint).notes;
}

void Run::load_origin() {
  if (config().origin.from.empty()) return;
  locate("load");
  auto [lines, notes] = load_initial(state(), config());
  origin_ = std::move(lines);
  notes_ = std::move(notes);
}

void Run::announce_resume() {
  if (start_.kernels != 0 && start_.kernels != kernels_) {
    warn(fmt::format(
        "{} was computed by another build, library or instruction set: the run "
        "goes on, with other bits than it would have had there",
        start_.checkpoint));
  }
  if (!is_last()) return;
  tell(MessageEvent{
      MessageEvent::Level::kInfo,
      fmt::format("nothing to do: {} is of step {}, the run has {} steps",
                  start_.checkpoint, step_, config().steps)});
}

void Run::step() {
  const Stopwatch watch;
  const engine::StepResult result = timed_step();
  const double seconds = watch.seconds();
  speed_.add(seconds);
  if (result.skip == engine::StepResult::Skip::kNone) loss_ = result.loss;
  report(result, seconds);
  count_skip(reason_of(result.skip));
  const Boundary boundary = meet();
  if (boundary.saved) saves_.end();
  stopped_ = boundary.stop && !is_last();
  evaluate_if_due();
  save_if_due();
}

Boundary Run::meet() {
  const Boundary mine{.stop = stop_.seen(), .saved = saves_.ended()};
  Boundary all{.stop = false, .saved = true};
  for (const auto& [stop, saved] : together_.all(mine)) {
    all.stop = all.stop || stop;
    all.saved = all.saved && saved;
  }
  return all;
}

engine::StepResult Run::timed_step() {
  locate("data");
  const std::vector<Batch> batches = loader_.lanes(step_, engine_.lanes());
  engine::StepResult result = engine_.step(step_, batches);
  ++step_;
  return result;
}

void Run::report(const engine::StepResult& result, double seconds) {
  const std::string skipped = reason_of(result.skip);
  tell(StepEvent{.step = step_,
                 .loss = result.loss,
                 .norm = result.gradient_norm,
                 .lr = config().optimizer.lr * result.lr_factor,
                 .seconds = seconds,
                 .tokens_per_s = speed_.of(seconds),
                 .skipped = skipped,
                 .logged = every(step_, config().log_every) || is_last() ||
                           !skipped.empty()});
}

void Run::count_skip(const std::string& reason) {
  if (reason.empty()) {
    skips_in_a_row_ = 0;
    return;
  }
  ++skipped_;
  const bool all = is_last() && skipped_ == step_ - first_step_;
  if (++skips_in_a_row_ == kMostSkips || all) diverge(reason);
}

void Run::diverge(const std::string& reason) const {
  throw Diverged(fmt::format(
      "the run has diverged: steps {} to {} were skipped, the last because {}; "
      "resume from an earlier checkpoint with a lower optimizer.lr",
      step_ - skips_in_a_row_ + 1, step_, reason));
}

void Run::evaluate_if_due() {
  const bool due = is_last() || every(step_, config().evaluate_every);
  if (!validation_ || !due || stopped_) return;
  locate("evaluate");
  const Stopwatch watch;
  const EvaluateResult result = evaluate_over(engine_, *validation_);
  evaluated_ = {.loss = result.loss, .targets = result.targets};
  tell(EvaluationEvent{.step = step_,
                       .loss = result.loss,
                       .targets = result.targets,
                       .seconds = watch.seconds()});
}

void Run::save_if_due() {
  const bool due =
      is_last() || stopped_ || every(step_, config().checkpoint_every);
  if (config().checkpoint_every == 0) {
    if (stopped_) warn("stopped without saving: checkpoint.every is 0");
    return;
  }
  if (!due) return;
  locate("save");
  is_last() || stopped_ ? saves_.save_last(label()) : saves_.save(label());
}

StateLabel Run::label() const {
  return {.progress = {.step = step_,
                       .updates = engine_.updates(),
                       .position = step_ * blueprint_.step_samples(),
                       .seed = config().seed},
          .config = resolved_json(config()),
          .kernels = kernels_,
          .data = train_.content,
          .notes = notes_};
}

TrainResult Run::result() {
  locate("end");
  TrainResult result;
  result.loss = loss_;
  result.steps = step_;
  result.skipped = skipped_;
  result.tokens_per_s = speed_.steady();
  result.ranks = communicator_.size();
  result.stage = config().stage;
  result.wave = start_.wave;
  result.validation = evaluated_;
  result.stopped = stopped_;
  result.pause = saves_.longest_pause();
  if (!start_.checkpoint.empty()) result.resumed_from = start_.progress.step;
  const auto saved = saves_.fingerprint(step_);
  result.fingerprint = saved ? *saved : fingerprint(state());
  add_figures(result);
  return result;
}

void Run::add_figures(TrainResult& result) {
  const auto figures = together_.all(RankFigures{
      .peak_bytes = allocator_.report().total_peak,
      .predicted = engine_.predicted_traffic(),
      .measured = communicator_.record().plan_traffic() - earlier_});
  result.memory.predicted_peak_bytes = start_.predicted_peak_bytes;
  for (const RankFigures& rank : figures) {
    result.memory.measured_peak_bytes =
        std::max(result.memory.measured_peak_bytes, rank.peak_bytes);
    result.predicted += rank.predicted;
    result.measured += rank.measured;
  }
  require_as_predicted(figures, result);
}

// A start that did not do all that was predicted may need less memory.
void Run::require_as_predicted(const std::vector<RankFigures>& figures,
                               const TrainResult& result) const {
  for (std::size_t rank = 0; rank < figures.size(); ++rank) {
    const auto& [peak, predicted, measured] = figures[rank];
    if (predicted == measured) continue;
    throw SystemError(fmt::format(
        "rank {} made {} collectives of {} bytes; its plans foretold {} of {} "
        "bytes: this is a fault of the engine, please report it",
        rank, measured.collectives, measured.wire_bytes, predicted.collectives,
        predicted.wire_bytes));
  }
  const auto& memory = result.memory;
  const bool whole =
      step_ > first_step_ + skipped_ && (!validation_ || evaluated_);
  if (memory.measured_peak_bytes == memory.predicted_peak_bytes) return;
  if (!whole && memory.measured_peak_bytes < memory.predicted_peak_bytes)
    return;
  throw SystemError(fmt::format(
      "the largest rank held {} bytes at its peak; its plan foretold {}: this "
      "is a fault of the engine, please report it",
      memory.measured_peak_bytes, memory.predicted_peak_bytes));
}

}  // namespace

TrainResult train(const RunConfig& config, const TrainOptions& options,
                  comm::Communicator& communicator, Sink& sink) {
  communicator.locate({.step = 0, .phase = "start"});
  Run run(config, options, communicator, sink);
  try {
    while (!run.finished()) run.step();
    return run.result();
  } catch (const Diverged& error) {
    run.end_diverged(error.what());
    throw;
  } catch (const UsageError& error) {
    run.let_save_end(error.what(), comm::kUsageExit);
    throw;
  } catch (const std::exception& error) {
    run.let_save_end(error.what(), comm::kSystemExit);
    throw;
  }
}

}  // namespace quire::train
