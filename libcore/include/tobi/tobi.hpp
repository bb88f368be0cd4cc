// SPDX-License-Identifier: Apache-2.0
// Everything of Tobiuo that a program includes.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include "tobi/detail/standard.hpp"

#if __cplusplus >= 202002L  // else what follows says nothing that the line above has not said
#include "tobi/accumulate.hpp"
#include "tobi/algorithm.hpp"
#include "tobi/bound.hpp"
#include "tobi/checkout.hpp"
#include "tobi/distributed_vector.hpp"
#include "tobi/error.hpp"
#include "tobi/finish.hpp"
#include "tobi/future.hpp"
#include "tobi/global_copy.hpp"
#include "tobi/global_memory.hpp"
#include "tobi/global_ptr.hpp"
#include "tobi/global_ref.hpp"
#include "tobi/global_vector.hpp"
#include "tobi/hint.hpp"
#include "tobi/mapped_file.hpp"
#include "tobi/migratable.hpp"
#include "tobi/on_all_workers.hpp"
#include "tobi/one_sided.hpp"
#include "tobi/parallel.hpp"
#include "tobi/per_worker.hpp"
#include "tobi/phase.hpp"
#include "tobi/placement.hpp"
#include "tobi/runtime.hpp"
#include "tobi/scatter.hpp"
#include "tobi/statistics.hpp"
#include "tobi/task.hpp"
#include "tobi/task_collection.hpp"
#include "tobi/task_group.hpp"
#include "tobi/task_memory.hpp"
#endif
