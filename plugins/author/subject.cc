#include "subject.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "drover/hcl.h"
#include "drover/passport.h"
#include "drover/plugin_programs/handshake.h"

extern char** environ;

namespace drover::author {
namespace {

bool is_shared_object(const std::string& file) { return std::filesystem::path(file).extension() == ".so"; }

// Goes by its note. A file that cannot be read is refused when it is loaded.
bool is_stable(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const Result<Passport> passport = read_passport(fd);
  ::close(fd);
  return passport.ok() && passport->note.tier == note::kStable;
}

}  // namespace

Result<Tried> program_of(const std::string& file, std::vector<std::string> arguments, const std::string& config_file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return not_found(file + ": there is no such file");
  if (!S_ISREG(info.st_mode)) return invalid_argument(file + ": is no regular file");
  const std::string path = std::filesystem::absolute(file).lexically_normal();
  Tried tried{.program = {.file = path, .arguments = std::move(arguments), .environment = {}},
              .is_exact = is_shared_object(file) && !is_stable(path)};
  if (is_shared_object(file)) {
    std::error_code error;
    tried.program.file = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) return invalid_argument("this program's own file is not known: " + error.message());
    tried.program.arguments = {"plugin", "serve", path};
    if (tried.is_exact && !config_file.empty()) {
      tried.program.arguments.emplace_back("-config");
      tried.program.arguments.push_back(std::filesystem::absolute(config_file));
    }
  } else if (::access(path.c_str(), X_OK) != 0) {
    return invalid_argument(file + ": cannot be executed; a plugin is a program (chmod +x) or a shared object (.so)");
  }
  tried.program.environment = plugin_programs::plugin_environment(environ);
  return tried;
}

Result<std::string> read_file(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.good() && text.empty() && !std::filesystem::exists(file)) return not_found(file + ": there is no such file");
  return text;
}

Result<hcl::Value> read_config(const std::string& file) {
  DROVER_TRY(std::string text, read_file(file));
  if (hcl::looks_like_json(text)) return hcl::from_json(text).with_context(file);
  hcl::Diagnostics problems;
  const hcl::File parsed = hcl::parse(file, std::move(text), problems);
  const hcl::Node root =
      hcl::evaluate(parsed.body, {.variables = {}, .functions = hcl::standard_functions()}, problems);
  DROVER_RETURN_IF_ERROR(problems.status());
  return hcl::object_of(root);
}

}  // namespace drover::author
