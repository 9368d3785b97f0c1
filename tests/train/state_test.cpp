// What a checkpoint gives back goes by name.
#include "quire/train/detail/state.h"

#include "quire/optim/adam.h"
#include "tests/support/rig.h"
#include "tests/support/token_loss.h"
#include "tests/train/run_language.h"

namespace quire::train {
namespace {

// y = a b x: two parameters of one shape, in either order.
nn::Model product(const std::string& first, const std::string& second) {
  nn::Model model;
  model.add<test::Times>(first, {.start = first == "a" ? 2.0f : 3.0f});
  model.add<test::Times>(second, {.start = second == "a" ? 2.0f : 3.0f});
  return model;
}

struct Products {
  test::SumLoss loss;
  std::unique_ptr<optim::Optimizer> optimizer = optim::adamw({});

  test::Rig rig(const nn::Model& model, int ranks) const {
    engine::Options options;
    options.lanes = options.wave = 2;
    options.groups = {.lr = 0.1};
    return {.model = &model,
            .loss = &loss,
            .optimizer = optimizer.get(),
            .options = options,
            .ranks = ranks};
  }
};

TEST(State, FollowsNamesWhateverTheOrderOfTheLayers) {
  const TempFolder folder;
  const nn::Model saved = product("a", "b"), loaded = product("b", "a");
  const Products products;
  test::Ledger before, after;
  test::run(products.rig(saved, 2), [&](test::Hand& hand) {
    test::step(hand, 0, [](int) { return test::tokens({1}); });
    Together together(hand.communicator);
    StateLabel label{};
    label.config = "{}";
    save_state({&saved, &hand.engine, &together}, label,
               {.folder = folder.path()});
    before.add(hand, saved);
  });
  test::run(products.rig(loaded, 3), [&](test::Hand& hand) {
    Together together(hand.communicator);
    EXPECT_FALSE(
        resume_state({&loaded, &hand.engine, &together}, folder.path()));
    after.add(hand, loaded);
  });
  EXPECT_EQ(after, before);
  EXPECT_NEAR(after.values("exp_avg", "a.w")[0], 0.3f, 1e-6);  // 0.1 b
  EXPECT_NEAR(after.values("exp_avg", "b.w")[0], 0.2f, 1e-6);  // 0.1 a
}

}  // namespace
}  // namespace quire::train
