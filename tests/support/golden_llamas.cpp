#include "tests/support/golden_llamas.h"

#include "quire/core/error.h"

namespace quire::testing {
namespace {

using Scaling = nn::RotaryOptions::Scaling;

GoldenLlama llama() {
  return {.folder = "llama_tiny",
          .options = {.layers = 3,
                      .width = 48,
                      .heads = 6,
                      .kv_heads = 2,
                      .head_width = 8,
                      .hidden = 104,
                      .context = 64,
                      .vocab = 197,
                      .norm_eps = 1e-05f},
          .steps = {{5.356151580810547, 1.9082392454147339},
                    {4.958280563354492, 1.5031683444976807},
                    {4.526480197906494, 2.4688754081726074},
                    {4.131596565246582, 2.728142023086548},
                    {3.800278425216675, 4.823061466217041},
                    {3.2006614208221436, 1.9768238067626953},
                    {2.730154037475586, 1.7573611736297607},
                    {2.373072862625122, 2.4181649684906006},
                    {1.9503722190856934, 1.4555433988571167},
                    {1.6166582107543945, 1.2376861572265625}},
          .final_loss = 1.295694351196289};
}

GoldenLlama qwen2() {
  return {.folder = "qwen2_small",
          .options = {.layers = 2,
                      .width = 40,
                      .heads = 4,
                      .kv_heads = 2,
                      .head_width = 10,
                      .hidden = 72,
                      .context = 64,
                      .vocab = 131,
                      .norm_eps = 1e-06f,
                      .rotary = {.theta = 1000000.0f},
                      .qkv_bias = true,
                      .tied_head = true},
          .steps = {{4.952441215515137, 1.6789298057556152},
                    {4.58331298828125, 1.1872624158859253},
                    {4.247494220733643, 1.5071992874145508},
                    {3.828564405441284, 1.9067699909210205},
                    {3.4910335540771484, 2.1282317638397217},
                    {3.1029305458068848, 1.4453085660934448},
                    {2.7850677967071533, 1.4545180797576904},
                    {2.4670515060424805, 1.208902359008789},
                    {2.158802032470703, 1.0844707489013672},
                    {1.8801966905593872, 1.0954879522323608}},
          .final_loss = 1.6132919788360596};
}

GoldenLlama qwen3() {
  return {.folder = "qwen3_small",
          .options = {.layers = 2,
                      .width = 32,
                      .heads = 4,
                      .kv_heads = 1,
                      .head_width = 12,
                      .hidden = 56,
                      .context = 64,
                      .vocab = 139,
                      .norm_eps = 1e-06f,
                      .rotary = {.theta = 1000000.0f},
                      .qk_norm = true},
          .steps = {{4.942444324493408, 1.6337686777114868},
                    {4.550418853759766, 1.5821157693862915},
                    {4.174095153808594, 2.445557117462158},
                    {3.7986929416656494, 2.2118897438049316},
                    {3.4887402057647705, 2.5624523162841797},
                    {3.1250274181365967, 1.3859399557113647},
                    {2.8278796672821045, 1.3868423700332642},
                    {2.532447576522827, 1.206336259841919},
                    {2.252326726913452, 1.207019329071045},
                    {1.993686318397522, 1.2464027404785156}},
          .final_loss = 1.7412822246551514};
}

GoldenLlama mistral() {
  return {.folder = "mistral_small",
          .options = {.layers = 2,
                      .width = 48,
                      .heads = 6,
                      .kv_heads = 3,
                      .head_width = 8,
                      .hidden = 72,
                      .context = 64,
                      .vocab = 127,
                      .norm_eps = 1e-06f,
                      .window = 9},
          .steps = {{4.953353404998779, 2.076158046722412},
                    {4.335782051086426, 1.7106542587280273},
                    {3.805752754211426, 2.5169878005981445},
                    {3.4020447731018066, 2.971813440322876},
                    {2.857579231262207, 2.304123878479004},
                    {2.390676498413086, 1.8593957424163818},
                    {1.9463576078414917, 1.3382785320281982},
                    {1.6035765409469604, 1.597239375114441},
                    {1.26716148853302, 1.2001566886901855},
                    {0.9721745252609253, 0.9894377589225769}},
          .final_loss = 0.728712260723114};
}

GoldenLlama llama3() {
  return {.folder = "llama3_small",
          .options = {.layers = 2,
                      .width = 48,
                      .heads = 4,
                      .kv_heads = 2,
                      .head_width = 12,
                      .hidden = 80,
                      .context = 160,
                      .vocab = 149,
                      .norm_eps = 1e-06f,
                      .rotary = {.theta = 500000.0f,
                                 .scaling = Scaling::kLlama3,
                                 .factor = 4.0f,
                                 .low_frequency_factor = 1.0f,
                                 .high_frequency_factor = 4.0f,
                                 .original_context = 40},
                      .tied_head = true},
          .steps = {{5.064521789550781, 1.2186646461486816},
                    {4.781085014343262, 1.2631688117980957},
                    {4.587089538574219, 2.1339778900146484},
                    {4.183791160583496, 1.9466720819473267},
                    {3.905985116958618, 2.488032579421997},
                    {3.6184165477752686, 1.6165128946304321},
                    {3.393551826477051, 2.1774966716766357},
                    {3.0561447143554688, 0.9099341034889221},
                    {2.777879476547241, 0.8930911421775818},
                    {2.4847519397735596, 0.7915545105934143}},
          .final_loss = 2.216136932373047};
}

}  // namespace

std::span<const GoldenLlama> golden_llamas() {
  static const std::vector<GoldenLlama> all = {llama(), qwen2(), qwen3(),
                                               mistral(), llama3()};
  return all;
}

const GoldenLlama& golden_llama(const std::string& folder) {
  for (const GoldenLlama& golden : golden_llamas())
    if (golden.folder == folder) return golden;
  throw UsageError("no golden model is called " + folder);
}

std::string foreign_name(const std::string& name) {
  if (name == "head.lm_head.weight") return "lm_head.weight";
  for (const std::string layer : {"embed.", "head."})
    if (name.starts_with(layer)) return "model." + name.substr(layer.size());
  return "model." + name;
}

}  // namespace quire::testing
