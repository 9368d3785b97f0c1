#include "quire/checkpoint/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "quire/checkpoint/manifest.h"
#include "quire/checkpoint/shard/shards.h"
#include "quire/core/error.h"

namespace quire::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kTemporary = ".tmp-";
constexpr std::size_t kDigits = 8;
constexpr std::size_t kMostDigits = 18;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator();
       entries.increment(error))
    names.push_back(entries->path().filename().string());
  if (error == std::errc::no_such_file_or_directory ||
      error == std::errc::not_a_directory)
    throw UsageError(fmt::format(
        "{} is no folder; expected a checkpoint or a run's folder", folder));
  if (error)
    throw SystemError(
        fmt::format("{} cannot be listed: {}", folder, error.message()));
  std::ranges::sort(names);
  return names;
}

// Of a path, which may end in a slash.
std::optional<std::int64_t> named_step(const fs::path& path) {
  const fs::path name =
      path.has_filename() ? path.filename() : path.parent_path().filename();
  return parse_step_name(name.string());
}

// ".step-00000020.tmp-0a1b2c3d"
bool is_leftover(std::string_view name) {
  const auto end = name.find(kTemporary);
  return name.starts_with('.') && end != std::string_view::npos &&
         parse_step_name(name.substr(1, end - 1)).has_value();
}

void check(const Keep& keep) {
  if (keep.newest < 0 || keep.every < 0)
    throw UsageError(fmt::format(
        "got {} newest checkpoints to keep and every {}th step; expected "
        "numbers of at least 0",
        keep.newest, keep.every));
}

// Out of sight under a leftover's name first.
void remove_step(const std::string& folder, const Step& step,
                 const FileObserver& observer) {
  const std::string hidden = joined(
      folder, fmt::format(".{}{}removed", step_name(step.step), kTemporary));
  remove_folder(hidden, observer);
  rename_path(step.path, hidden, observer);
  sync_folder(folder, observer);  // or a power loss might leave it half
  remove_folder(hidden, observer);
}

}  // namespace

std::string step_name(std::int64_t step) {
  return fmt::format("{}{:0{}}", kPrefix, step, kDigits);
}

std::optional<std::int64_t> parse_step_name(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kPrefix.size());
  const bool plain =
      digits.size() >= kDigits && digits.size() <= kMostDigits &&
      digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (!plain || (digits.size() > kDigits && digits[0] == '0'))
    return std::nullopt;
  std::int64_t step = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), step);
  return step;
}

bool is_step(const std::string& path) {
  std::error_code ignored;
  return fs::exists(joined(path, kManifestName), ignored) ||
         named_step(path).has_value();
}

void check_name(const std::string& folder, const Manifest& manifest) {
  const std::int64_t step = manifest.progress.step;
  if (named_step(folder).value_or(step) != step)
    throw UsageError(
        fmt::format("{} is of step {}, which its name does not say; rename it "
                    "to {}, or remove it",
                    folder, step, step_name(step)));
}

std::string problem_of(const std::string& folder) {
  try {
    const Manifest manifest = read_manifest(folder);
    check_name(folder, manifest);
    for (const auto& file : manifest.files) open_shard(folder, file);
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::vector<Step> list_steps(const std::string& folder) {
  std::vector<Step> steps;
  for (const auto& name : names_in(folder)) {
    const auto step = parse_step_name(name);
    if (!step) continue;
    const std::string path = joined(folder, name);
    steps.push_back({.step = *step, .path = path, .problem = problem_of(path)});
  }
  std::ranges::sort(steps, {}, &Step::step);
  return steps;
}

std::optional<std::int64_t> newest_step(const std::string& folder) {
  std::optional<std::int64_t> newest;
  for (const auto& name : names_in(folder))
    newest = std::max(newest, parse_step_name(name));
  return newest;
}

std::string step_or_newest(const std::string& path) {
  if (is_step(path)) return path;
  const auto newest = newest_step(path);
  if (!newest) throw UsageError(path + " holds no checkpoint (step-NNNNNNNN)");
  return joined(path, step_name(*newest));
}

void prune(const std::string& folder, const Keep& keep,
           const FileObserver& observer) {
  check(keep);
  if (keep.newest == 0) return;
  const auto steps = list_steps(folder);
  std::int64_t whole = 0;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (!step->problem.empty()) continue;
    const bool stays = ++whole <= keep.newest ||
                       (keep.every > 0 && step->step % keep.every == 0);
    if (!stays) remove_step(folder, *step, observer);
  }
  sync_folder(folder, observer);
}

void remove_leftovers(const std::string& folder, const FileObserver& observer) {
  for (const auto& name : names_in(folder))
    if (is_leftover(name)) remove_folder(joined(folder, name), observer);
}

void require_fresh(const std::string& folder) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) return;
  for (const auto& name : names_in(folder))
    if (!name.starts_with('.'))
      throw UsageError(fmt::format(
          "{} is not empty: it holds {}; resume the run in it, or name "
          "another folder",
          folder, name));
}

}  // namespace quire::checkpoint
