// The flag by which commands about volumes take secrets for the storage.
#pragma once

#include "cli_command.h"

namespace drover::cli {

inline Flag secret_flag() {
  return with_value("secret", "",
                    "key=value for the storage, may be given several times; others on this machine see it");
}

}  // namespace drover::cli
