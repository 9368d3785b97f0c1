#include "quire/train/config_keys.h"

#include <fmt/format.h>

#include "quire/train/keys/key.h"

namespace quire::train {
namespace {

std::string default_of(const Key& key) {
  if (key.needed) return "needed";
  if (!key.fallback.empty()) return key.fallback;
  RunConfig config;
  if (!key.models.empty())
    config.model = models::options_of(key.models.front());
  const Json value = key.get(config);
  return value.is_null() ? "left out" : value.dump();
}

std::string section_of(const Key& key) {
  const auto dot = key.name.find('.');
  return dot == std::string::npos ? "" : key.name.substr(0, dot);
}

std::string description_of(const Key& key) {
  std::string text = key.description;
  for (const auto* types : {&key.optimizers, &key.models}) {
    for (std::size_t i = 0; i < types->size(); ++i)
      text += (i > 0 ? ", " : "; of ") + (*types)[i];
  }
  return text;
}

std::string_view word_for(OnResume on_resume) {
  switch (on_resume) {
    case OnResume::kFree:
      return "free";
    case OnResume::kWarned:
      return "warns";
    case OnResume::kOfStates:
      return "warns; refused if the optimizer's states change";
    case OnResume::kRefused:
      return "refused";
  }
  return "";
}

// A cell of a table ends at a bar.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char byte : text) {
    if (byte == '|') escaped += '\\';
    escaped += byte;
  }
  return escaped;
}

constexpr std::string_view kIntroduction =
    R"(<!-- Written by `quire train --help-keys`: edit train/keys/, not this file. -->
# Configuration

A run is described by one JSON file, in which comments (`//` and `/* */`) are allowed. Every key stands below with what
it expects, what holds if it is left out, and what a difference from the checkpoint means when a run is resumed: `free`,
`warns`, or `refused`, because it would be another run.

An unknown key, a key that stands twice, a wrong type and a value out of range are errors that name the file and the
key; an unknown key also names the nearest one. A whole number serves where a real one is meant. Paths are relative to
the folder in which the command is started.

`--set KEY=VALUE` replaces a key: `--set zero.stage=2 --set 'optimizer.betas=[0.9, 0.95]'`. The value is read as JSON,
and as text if it is none. Elements of arrays are reached by their number: `--set optimizer.groups.0.weight_decay=0`.
The configuration as it was resolved stands as `resolved_config.json` in the run's folder and in every checkpoint.
)";

constexpr std::string_view kTableHead =
    "| key | expected | default | meaning | on resume |\n"
    "|---|---|---|---|---|\n";

}  // namespace

std::string config_help() {
  std::string text;
  for (const Key& key : key_table()) {
    text += fmt::format("  {} ({}): {}\n      {}\n", key.name, default_of(key),
                        key.expected, description_of(key));
  }
  return text;
}

std::string config_markdown() {
  std::string text(kIntroduction);
  std::string section = "none yet";
  for (const Key& key : key_table()) {
    if (section_of(key) != section) {
      section = section_of(key);
      text += fmt::format("\n## {}\n\n{}",
                          section.empty() ? "The run" : section, kTableHead);
    }
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", key.name,
                        cell(key.expected), cell(default_of(key)),
                        cell(description_of(key)), word_for(key.on_resume));
  }
  return text;
}

}  // namespace quire::train
