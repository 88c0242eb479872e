// Where a task finds its tokens, and when they are renewed. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace drover::v1 {
class Identity;
class Task;
}  // namespace drover::v1

namespace drover::identity {

// The identities that the task is shown: as files, as variables, or both.
std::vector<v1::Identity> shown_identities(const v1::Task& task);

// "secrets/nomad_token", "secrets/nomad_NAME.jwt", or what the identity says; as the task's files are named.
std::string file_of(const v1::Identity& identity);
// "NOMAD_TOKEN", "NOMAD_TOKEN_NAME"; bytes that no variable's name has become "_".
std::string variable_of(const v1::Identity& identity);

// From now to the half of the token's life, a second at least. `expires_at`: nanoseconds since 1970.
std::chrono::nanoseconds until_renewal(int64_t expires_at, int64_t now_ns);

}  // namespace drover::identity
