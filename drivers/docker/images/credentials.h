// Who one is to a registry: from the task's own `auth`, from a file that `docker login` writes, or from a helper
// program that is asked, in this order. No secret reaches a log or an error.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "config/container_options.h"
#include "config/plugin_options.h"
#include "images/image_name.h"

namespace drover::docker {

struct Credentials {
  std::string username, password, email, server_address, identity_token;
};

// The value of the header X-Registry-Auth. Pure.
std::string registry_auth(const Credentials& credentials);

// What the file says about a registry: credentials, or the helper to ask. Pure. Errors: invalid_argument when it
// cannot be read.
struct FileAnswer {
  std::optional<Credentials> credentials;
  std::string helper;  // empty: none
};
Result<FileAnswer> look_up(std::string_view file, const std::string& registry);

// What a helper said. Pure.
Result<Credentials> read_helper_answer(std::string_view json, const std::string& registry);

// Nothing: the registry is asked as by anybody. Reads the file and runs the helper. Errors: why it cannot be found out.
Result<std::optional<Credentials>> find_credentials(const ImageName& image, const ContainerOptions& options,
                                                    const PluginOptions& plugin, std::stop_token stop);

}  // namespace drover::docker
