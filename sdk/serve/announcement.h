// Reads the host's environment for a plugin, and writes the one line that it answers with. Pure.
//
// The handshake of go-plugin, core version 1 (its documentation of plugins in other languages).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::serve {

inline constexpr size_t kMaxSocketPath = 107;  // bytes, by the operating system

struct Terms {
  int protocol_version = 0;         // of drivers, ours
  std::string socket_folder;        // where the socket is made
  std::string socket_group;         // a name or a number; empty: the socket is the user's alone
  bool names_multiplexing = false;  // the host asked, so the line answers: no
  std::string client_certificate;   // PEM, of a host that asks for TLS; empty: it does not
};

using Environment = std::function<std::optional<std::string>(const char* name)>;

// Errors: failed_precondition with a hint for whoever started the program.
Result<Terms> read_terms(const Environment& environment);

// Without a line end. `certificate`: this end's, as the line carries it (drover/tls.h); empty without TLS.
std::string announcement(const Terms& terms, std::string_view socket, std::string_view certificate = {});

}  // namespace drover::serve
