#include "quire/convert/huggingface/config.h"

#include "quire/checkpoint/json.h"
#include "quire/convert/huggingface/config_read.h"

namespace quire::convert {
namespace {

// What no model of Quire is, in any family.
void refuse_strangers(ConfigKeys& keys) {
  keys.require_missing("quantization_config",
                       "only weights that are not quantised are supported; "
                       "take the model that they were made of");
  keys.require_flag("is_encoder_decoder", false);
  keys.require_flag("add_cross_attention", false);
}

models::Options read_options(ConfigKeys& keys, const std::string& type,
                             std::vector<std::string>& warnings) {
  if (type == "gpt2") return read_gpt2(keys, warnings);
  const Family* family = find_family(type);
  if (family == nullptr)
    keys.json()
        .at("model_type")
        .refuse("\"gpt2\", \"llama\", \"mistral\", \"qwen2\" or \"qwen3\"");
  return read_llama(keys, *family, warnings);
}

}  // namespace

Description parse_config(std::string_view text, const std::string& path,
                         std::vector<std::string>& warnings) {
  ConfigKeys keys(checkpoint::Json::parse(text, path));
  Description description;
  description.family = keys.json().at("model_type").string();
  keys.pass({"model_type", "architectures", "dtype", "torch_dtype"});
  refuse_strangers(keys);
  description.options = read_options(keys, description.family, warnings);
  description.other_keys = keys.others();
  return description;
}

}  // namespace quire::convert
