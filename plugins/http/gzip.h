// One body, compressed in the gzip format. Pure; the only file that includes zlib.
#pragma once

#include <string>
#include <string_view>

namespace drover::api {

std::string gzip(std::string_view body);

}  // namespace drover::api
