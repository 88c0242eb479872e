#include "images/image_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "drover/fd.h"
#include "drover/log.h"
#include "drover/open_below.h"
#include "engine/answers.h"
#include "images/credentials.h"

namespace drover::docker {
namespace {

constexpr size_t kPiece = 256 * 1024;

// A file of the task's, by a name that must not lead out of its folder: the task may have put links there.
Fd open_image(const std::string& folder, const std::string& name) {
  const Fd root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return open_below(root, name, O_RDONLY | O_NONBLOCK, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
}

Status load_image(Engine& engine, const ImageWish& wish, const std::stop_token& stop) {
  const Fd archive = open_image(wish.local_folder, wish.options.load);
  struct stat about {};
  if (archive.get() < 0 || ::fstat(archive.get(), &about) != 0)
    return errno_status(errno, "unable to open image archive: " + wish.options.load);
  if (!S_ISREG(about.st_mode))
    return invalid_argument("unable to open image archive: " + wish.options.load + " is no file");
  Request request{.method = "POST", .target = "/images/load?quiet=1", .content_type = "application/x-tar"};
  request.length = static_cast<uint64_t>(about.st_size);
  request.more_body = [&archive, left = request.length]() mutable -> Result<std::string> {
    std::string piece(std::min<uint64_t>(kPiece, left), '\0');
    if (piece.empty()) return piece;
    const ssize_t size = ::read(archive.get(), piece.data(), piece.size());
    if (size <= 0) return data_loss("the image archive became shorter while it was read");
    piece.resize(static_cast<size_t>(size));
    left -= piece.size();
    return piece;
  };
  DROVER_TRY(const std::string answer, engine.call(request, Patience::of(wish.options.image_pull_timeout, stop)));
  PullProgress progress;  // an error in a good answer, as in a pull
  DROVER_RETURN_IF_ERROR(progress.feed(answer, {}));
  return progress.finish({});
}

Result<std::string> registry_header(const ImageWish& wish, const ImageName& image, const std::stop_token& stop) {
  auto credentials = find_credentials(image, wish.options, wish.plugin, stop);
  if (!credentials && !wish.options.auth_soft_fail) return credentials.status();
  if (!credentials) {
    log::warn("docker", "credentials could not be found; the image is pulled without",
              {{"image", image.text()}, {"error", credentials.status().message()}});
    return std::string();
  }
  return *credentials ? registry_auth(**credentials) : std::string();
}

}  // namespace

bool is_of_processes(const std::string& folder) {
  const std::string normal = std::filesystem::path("/" + folder).lexically_normal();
  return normal == "/proc" || normal.starts_with("/proc/");
}

Result<std::string> find_image(Engine& engine, const ImageName& image, const std::stop_token& stop) {
  DROVER_TRY(const std::string answer,
             engine.call({.target = "/images/" + image.encoded() + "/json"}, Patience::of(Engine::kCallTime, stop)));
  DROVER_TRY(Image found, read_image(answer));
  if (is_of_processes(found.work_dir))
    return invalid_argument("the image " + image.text() + " has the working directory " + found.work_dir +
                            ", which leads out of its container");
  return std::move(found.id);
}

Result<std::string> provide_image(Engine& engine, ImagePuller& puller, const ImageWish& wish, std::stop_token stop) {
  DROVER_TRY(const ImageName image, parse_image_name(wish.options.image));
  if (!wish.options.load.empty()) {
    const Status loaded = load_image(engine, wish, stop);
    if (!loaded.ok()) return loaded.with_context("image archive " + wish.options.load);
    return find_image(engine, image, stop);
  }
  if (!wish.options.force_pull && image.tag != "latest") {
    auto found = find_image(engine, image, stop);
    if (found.status().code() != Code::not_found) return found;
  }
  DROVER_TRY(std::string header, registry_header(wish, image, stop));
  DROVER_RETURN_IF_ERROR(puller.pull({.image = image,
                                      .registry_auth = std::move(header),
                                      .time = wish.options.image_pull_timeout,
                                      .activity_time = wish.plugin.pull_activity_timeout,
                                      .tell = wish.tell},
                                     stop));
  return find_image(engine, image, stop);
}

}  // namespace drover::docker
