// The things that the services of one instance share.
#pragma once

#include "busy.h"
#include "disk/storage.h"
#include "disk/store.h"
#include "settings.h"

namespace drover::hostpath {

struct Plugin {
  explicit Plugin(Settings wanted)
      : settings(std::move(wanted)), store(settings.data_dir), storage(settings.data_dir) {}

  // Opens the folder, makes this node known, and ends what a crash cut off.
  Status open();

  const Settings settings;
  Store store;
  Storage storage;
  Busy busy;

 private:
  Status end_cut_off();
};

}  // namespace drover::hostpath
