// What a first program includes.
#pragma once

#include "quire/core/batch.h"
#include "quire/core/error.h"
#include "quire/core/tensor.h"
#include "quire/engine/options.h"
#include "quire/models/gpt2.h"
#include "quire/models/mlp.h"
#include "quire/nn/layers.h"
#include "quire/nn/loss.h"
#include "quire/nn/model.h"
#include "quire/optim/optimizer.h"
#include "quire/version.h"
