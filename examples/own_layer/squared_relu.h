// An operation of our own.
#pragma once

#include "quire/quire.h"

// y = max(x, 0)^2, element by element.
quire::autograd::Var squared_relu(const quire::autograd::Var& x);
