// What segments are run with. All are borrowed.
#pragma once

#include "quire/core/allocator.h"
#include "quire/core/stream.h"
#include "quire/engine/options.h"
#include "quire/engine/structure.h"
#include "quire/nn/loss.h"
#include "quire/nn/model.h"

namespace quire::engine {

struct SegmentSetup {
  const nn::Model* model;
  const Structure* structure;
  const nn::Loss* loss;
  const Options* options;
  Stream* stream;
  Allocator* allocator;
};

}  // namespace quire::engine
