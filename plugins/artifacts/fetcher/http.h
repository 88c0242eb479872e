// Downloads over HTTP, HTTPS, S3 and GCS by libcurl.
#pragma once

#include <string>

#include "drover/result.h"
#include "fetcher/request.h"

namespace drover::artifacts {

// Writes what the URL gives to `path`. A transfer that breaks goes on where it stopped, a few times. Errors:
// invalid_argument when trying again is no use (400, 401, 403, 404, 410, too large, a wrong address); unavailable else.
Status download(const Request& request, const std::string& url, const std::string& path);

}  // namespace drover::artifacts
