// The preconditions of the kernels, the same for every implementation: each
// throws UsageError naming the kernel and what it got.
#pragma once

#include "quire/kernels/activation.h"
#include "quire/kernels/attention.h"
#include "quire/kernels/cross_entropy.h"
#include "quire/kernels/dropout.h"
#include "quire/kernels/elementwise.h"
#include "quire/kernels/embedding.h"
#include "quire/kernels/exact_sum.h"
#include "quire/kernels/layer_norm.h"
#include "quire/kernels/matmul.h"
#include "quire/kernels/optimizer_update.h"
#include "quire/kernels/tree_add.h"

namespace quire::kernels {

void check(const ActivationForward& args);
void check(const ActivationBackward& args);

void check(const AttentionForward& args);
void check(const AttentionBackward& args);

void check(const EmbeddingForward& args);
void check(const EmbeddingBackward& args);
// Throws UsageError naming the first position whose id is not a row of the
// table. Not on the meta device.
void check_ids(const Tensor& ids, const Tensor& table);

void check(const LayerNormForward& args);
void check(const LayerNormBackward& args);

void check(const Matmul& args);
void check(const SumRows& args);

void check(const CrossEntropyForward& args);
void check(const CrossEntropyBackward& args);
// Throws UsageError naming the first row whose label is neither in [0, V) nor
// `ignore`. Not on the meta device.
void check_labels(const Tensor& logits, const Tensor& labels,
                  std::int32_t ignore);

void check(const Dropout& args);

void check(const Add& args);
void check(const AddRows& args);
void check(const AddRowsBackward& args);
void check(const Multiply& args);
void check(const Scale& args);
void check(const Cast& args);
void check(const Fill& args);
void check(const FillRandom& args);

void check(const SumOfSquares& args);

void check(const TreeAdd& args);

void check(const AdamUpdate& args);
void check(const SgdUpdate& args);

}  // namespace quire::kernels
