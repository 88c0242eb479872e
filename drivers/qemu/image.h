// Which files of this machine a task may have as its image.
#pragma once

#include <string>
#include <vector>

#include "drover/result.h"

namespace drover::qemu {

// The path of an image with every link followed: one that lies in the allocation's folder or below one of `allowed`. A
// relative path is looked for in the task's folder. Errors: invalid_argument.
Result<std::string> find_image(const std::string& image_path, const std::string& task_folder,
                               const std::string& alloc_folder, const std::vector<std::string>& allowed);

}  // namespace drover::qemu
