// How the API describes a file: its mode, and the type of its content. In the forms of Go, as clients expect. Pure.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace drover::agent {

inline constexpr size_t kTypedBytes = 512;  // of a file, that say what its content is

// "drwxr-xr-x", "Lrwxrwxrwx", "dtrwxrwxrwx", "prw-------", "Dcrw-rw----".
std::string mode_text(mode_t mode);

// A file's name as JSON can say it: what is no UTF-8 becomes U+FFFD.
std::string name_text(const std::string& name);

// By the first kTypedBytes of a file, as browsers do it (the WHATWG's MIME sniffing), and by an ending ".json". For
// nothing: "application/octet-stream".
std::string content_type(std::string_view head, std::string_view name);

// The same type when a browser shows it without carrying anything out; else plain text or bytes.
std::string harmless_type(std::string_view content_type);

}  // namespace drover::agent
