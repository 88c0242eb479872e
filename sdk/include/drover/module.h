// The entry of a plugin of the exact tier, for the one source that has it:
//
//   DROVER_MODULE(acme::Plugin, "module", "acme", "1.0.0");
#pragma once

#include "drover/exact_tag.h"
#include "drover/note.h"
#include "drover/plugin.h"

// Writes the note and the one exported symbol of an exact-tier plugin. NAME and VERSION are literals.
#ifdef DROVER_STABLE_TIER
#define DROVER_MODULE(CLASS, KIND, NAME, VERSION)                                                            \
  static_assert(sizeof(CLASS) == 0,                                                                          \
                "plugin.json says tier \"stable\", and DROVER_MODULE makes a plugin of the exact tier: use " \
                "DROVER_TASK_DRIVER or its like (drover/serve.h), or say tier \"exact\" in plugin.json")
#else
#define DROVER_MODULE(CLASS, KIND, NAME, VERSION)                                                                \
  DROVER_PLUGIN_NOTE(::drover::note::kExact, KIND, NAME, VERSION, ::drover::note::exact_tag())                   \
  extern "C" __attribute__((visibility("default"))) ::drover::Plugin* drover_module_open() { return new CLASS; } \
  static_assert(true)
#endif
