// Proves that a plan may be executed as it stands. It needs no device and does
// not ask the builder: it replays the ops and keeps books.
//
// Proved of one rank's plan
//   units       a run finds its units open and has waited for their gathers; no
//               unit is gathered while open, or before its release; none is
//               released before its readers are done; at stage 3 none stays
//               open
//   lanes       every lane of the rank runs forward, turn and backward once at
//               each segment, in this order, and a wave ends before the next;
//               runs and reduces have the lanes that the layout gives the rank
//               in their wave, which is how peers know them
//   gradients   no row is written before the reduce that sends it is retired;
//               every trainable use is reduced once a wave (stages 2 and 3) or
//               once after its last lane (0 and 1), with the lanes that were
//               run; every reduce is retired once; commit and update come last
//   bytes       of every collective, counted anew from lanes and rows
// and of all ranks' plans
//   order       all ranks launch the same collectives in one order, so that
//               each can complete, among the same other ops
//   lanes       every lane is run by one rank, and arrives at the owners from
//               left to right
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quire/engine/plan.h"
#include "quire/engine/structure.h"

namespace quire::engine {

// A line for every violation, naming the rank and the op; none: proved.
std::vector<std::string> prove(const Structure& structure, const Plan& plan);
// plans[r] is rank r's plan of the same step or evaluation.
std::vector<std::string> prove(const Structure& structure,
                               std::span<const Plan> plans);

// `plan`; UsageError with the first line if it cannot be proved.
Plan proved(Plan plan, const Structure& structure);

}  // namespace quire::engine
