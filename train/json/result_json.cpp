#include <nlohmann/json.hpp>

#include "quire/core/hash.h"
#include "quire/train/json/json_line.h"
#include "quire/train/result.h"

namespace quire::train {
namespace {

using Json = nlohmann::ordered_json;

Json categories(const MemoryReport& memory) {
  Json table;
  for (int c = 0; c < kCategories; ++c) {
    table[std::string(name_of(static_cast<Category>(c)))] =
        memory.at_peak[static_cast<std::size_t>(c)];
  }
  return table;
}

Json as_json(const PlanReport::Entry& entry) {
  return {{"ranks", entry.ranks},
          {"stage", entry.stage},
          {"wave", entry.wave},
          {"memory",
           {{"predicted_peak_bytes", entry.memory.total_peak},
            {"categories", categories(entry.memory)}}},
          {"fits", entry.fits},
          {"wire", {{"predicted_bytes", entry.step.wire_bytes}}},
          {"collectives", {{"predicted", entry.step.collectives}}}};
}

}  // namespace

std::string to_json(const TrainResult& r) {
  Json json = {{"loss", r.loss},
               {"steps", r.steps},
               {"tokens_per_s", r.tokens_per_s},
               {"ranks", r.ranks},
               {"stage", r.stage},
               {"wave", r.wave},
               {"memory",
                {{"predicted_peak_bytes", r.memory.predicted_peak_bytes},
                 {"measured_peak_bytes", r.memory.measured_peak_bytes}}},
               {"wire",
                {{"predicted_bytes", r.predicted.wire_bytes},
                 {"measured_bytes", r.measured.wire_bytes}}},
               {"collectives",
                {{"predicted", r.predicted.collectives},
                 {"measured", r.measured.collectives}}},
               {"fingerprint", to_hex(r.fingerprint)},
               {"skipped", r.skipped},
               {"pause", r.pause},
               {"stopped", r.stopped}};
  if (r.resumed_from) json["resumed_from"] = *r.resumed_from;
  if (r.validation) {
    json["validation"] = {{"loss", r.validation->loss},
                          {"targets", r.validation->targets}};
  }
  return json_line(json);
}

std::string to_json(const EvaluateResult& result) {
  return json_line(Json{{"loss", result.loss}, {"targets", result.targets}});
}

std::string to_json(const GenerateResult& result) {
  const bool ended = result.end == GenerateResult::End::kEndOfText;
  return json_line(Json{{"text", result.text},
                        {"tokens", result.tokens},
                        {"end", ended ? "end_of_text" : "tokens"}});
}

std::string to_json(const PlanReport& report) {
  Json json;
  json["budget"] =
      report.budget_bytes ? Json(*report.budget_bytes) : Json("none");
  json["plans"] = Json::array();
  for (const PlanReport::Entry& entry : report.plans)
    json["plans"].push_back(as_json(entry));
  return json_line(json);
}

}  // namespace quire::train
