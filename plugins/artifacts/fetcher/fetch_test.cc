// Whole downloads from a server in the test, in this process and in the fetcher's own.
#include "fetcher/fetch.h"

#include <archive.h>
#include <archive_entry.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/landlock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <thread>

#include "fetcher_process.h"

namespace drover::artifacts {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Serves the files of a folder over HTTP/1.1, one request a connection, and some addresses that behave badly.
class Server {
 public:
  explicit Server(std::string folder) : folder_(std::move(folder)), socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    ::listen(socket_, 16);
    thread_ = std::thread([this] { run(); });
  }
  ~Server() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }

  std::string url;
  std::atomic<int> requests = 0;
  std::string last() {
    const std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  void run() {
    for (int peer = 0; (peer = ::accept(socket_, nullptr, nullptr)) >= 0;) {
      ++requests;
      std::string request;
      char part[4096];
      while (request.find("\r\n\r\n") == std::string::npos) {
        const ssize_t size = ::read(peer, part, sizeof part);
        if (size <= 0) break;
        request.append(part, static_cast<size_t>(size));
      }
      {
        const std::lock_guard lock(mutex_);
        last_ = request;
      }
      const std::string answer = answer_to(request);
      (void)!::write(peer, answer.data(), answer.size());
      ::close(peer);
    }
  }

  std::string answer_to(const std::string& request) {
    const size_t begin = request.find(' ') + 1;
    std::string path = request.substr(begin, request.find(' ', begin) - begin);
    path = path.substr(0, path.find('?'));
    if (path == "/loop") return "HTTP/1.1 302 Found\r\nLocation: /loop\r\nContent-Length: 0\r\n\r\n";
    if (path == "/moved") return "HTTP/1.1 302 Found\r\nLocation: /a.txt\r\nContent-Length: 0\r\n\r\n";
    if (path == "/local") return "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n";
    if (path == "/busy") return "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
    if (path == "/chunked") return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    if (path == "/broken") {  // half of it, and the rest for whoever asks for the rest
      const bool is_rest = request.find("Range: bytes=5-") != std::string::npos;
      if (is_rest && request.find("If-Range: \"v1\"") != std::string::npos)
        return "HTTP/1.1 206 Partial\r\nContent-Range: bytes 5-9/10\r\nContent-Length: 5\r\nETag: \"v1\"\r\n\r\n56789";
      return "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 10\r\n\r\n01234";
    }
    std::error_code error;
    if (!fs::is_regular_file(folder_ + path, error)) return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    const std::string body = content_of(folder_ + path);
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  const std::string folder_;
  const int socket_;
  std::mutex mutex_;
  std::string last_;
  std::thread thread_;
};

class FetchTest : public ::testing::Test {
 protected:
  FetchTest() {
    fs::create_directories(served_);
    fs::create_directories(target_);
    std::ofstream(served_ + "/a.txt") << "hello";
    make_tar(served_ + "/a.tgz");
    server_.emplace(served_);
  }
  ~FetchTest() override {
    server_.reset();
    fs::remove_all(folder_);
  }

  static void make_tar(const std::string& path) {
    archive* writer = archive_write_new();
    archive_write_set_format_pax_restricted(writer);
    archive_write_add_filter_gzip(writer);
    archive_write_open_filename(writer, path.c_str());
    for (const char* name : {"top", "dir/inner"}) {
      archive_entry* entry = archive_entry_new();
      archive_entry_set_pathname(entry, name);
      archive_entry_set_perm(entry, 0644);
      archive_entry_set_filetype(entry, AE_IFREG);
      archive_entry_set_size(entry, 2);
      archive_write_header(writer, entry);
      archive_write_data(writer, "x\n", 2);
      archive_entry_free(entry);
    }
    archive_write_close(writer);
    archive_write_free(writer);
  }

  Request request(const std::string& path) {
    scratch_ = folder_ + "/scratch" + std::to_string(++scratches_);
    fs::create_directories(scratch_);
    return {.getter = "http", .url = server_->url + path, .scratch = scratch_, .timeout = 20s};
  }
  std::string run(const Request& request) { return fetch(request, target_).message(); }
  std::string content(const std::string& name) const { return content_of(target_ + "/" + name); }

  const std::string folder_ = fs::path(::testing::TempDir()) / ("fetch." + std::to_string(::getpid()));
  const std::string served_ = folder_ + "/served", target_ = folder_ + "/target";
  std::string scratch_;
  int scratches_ = 0;
  std::optional<Server> server_;
};

TEST_F(FetchTest, AFileByItsName) {
  EXPECT_EQ(run(request("/a.txt?x=1")), "");
  EXPECT_EQ(content("a.txt"), "hello");
  Request other = request("/a.txt");
  other.options["filename"] = "b.txt";
  EXPECT_EQ(run(other), "");
  EXPECT_EQ(content("b.txt"), "hello");
  other = request("/a.txt");
  other.options["filename"] = "../b";
  EXPECT_EQ(run(other), "filename query parameter contain path traversal: ../b");
}

TEST_F(FetchTest, HeadersAndRedirects) {
  Request wanted = request("/moved");
  wanted.headers["X-Token"] = "abc";
  wanted.options["filename"] = "a";
  EXPECT_EQ(run(wanted), "");
  EXPECT_EQ(content("a"), "hello");
  EXPECT_NE(server_->last().find("X-Token: abc\r\n"), std::string::npos);
  EXPECT_NE(run(request("/loop")).find("redirects"), std::string::npos);
  EXPECT_NE(run(request("/local")).find("not supported"), std::string::npos);
  wanted = request("/a.txt");
  wanted.headers["A"] = "b\r\nC: d";
  EXPECT_EQ(run(wanted), "a header has two lines");
}

TEST_F(FetchTest, ErrorsTellWhetherToTryAgain) {
  EXPECT_EQ(fetch(request("/nothing"), target_), invalid_argument("bad response code: 404"));
  EXPECT_EQ(fetch(request("/busy"), target_), unavailable("bad response code: 503"));
  Request nobody = request("/a.txt");
  nobody.url = "http://127.0.0.1:1/a.txt";
  EXPECT_EQ(fetch(nobody, target_).code(), Code::unavailable);
}

TEST_F(FetchTest, ATransferThatBreaksGoesOn) {
  EXPECT_EQ(run(request("/broken")), "");
  EXPECT_EQ(content("broken"), "0123456789");
  EXPECT_EQ(server_->requests, 2);
}

TEST_F(FetchTest, TooLargeIsAnErrorAlsoInChunks) {
  for (const char* path : {"/a.txt", "/chunked"}) {
    Request wanted = request(path);
    wanted.most_bytes = 4;
    EXPECT_EQ(run(wanted), "the file is larger than the limit of 4 bytes (client.artifact.http_max_size)");
  }
  EXPECT_EQ(run(request("/chunked")), "");
  EXPECT_EQ(content("chunked"), "hello");
}

TEST_F(FetchTest, ArchivesAndTheirParts) {
  EXPECT_EQ(run(request("/a.tgz")), "");
  EXPECT_EQ(content("dir/inner"), "x\n");
  fs::remove_all(target_);
  fs::create_directories(target_);
  Request part = request("/a.tgz");
  part.part = "d*r";
  EXPECT_EQ(run(part), "");
  EXPECT_EQ(content("inner"), "x\n");
  part = request("/a.tgz");
  part.part = "nope";
  EXPECT_EQ(run(part), "subdirectory \"nope\" not found");
  Request whole = request("/a.tgz");
  whole.options["archive"] = "false";
  EXPECT_EQ(run(whole), "");
  EXPECT_EQ(content("a.tgz"), content_of(served_ + "/a.tgz"));
}

TEST_F(FetchTest, Modes) {
  Request file = request("/a.txt");
  file.mode = "file";
  file.file_name = "program";
  EXPECT_EQ(run(file), "");
  EXPECT_EQ(content("program"), "hello");
  file = request("/a.tgz");
  file.mode = "file";
  file.file_name = "program";
  EXPECT_EQ(run(file), "expected a single file, got multiple: " + file.url);
  Request dir = request("/a.txt");
  dir.mode = "dir";
  EXPECT_EQ(run(dir), "mode \"dir\" takes an archive: " + dir.url);
}

TEST_F(FetchTest, Checksums) {
  Request wanted = request("/a.txt");
  wanted.options["checksum"] = "md5:5d41402abc4b2a76b9719d911017c592";
  EXPECT_EQ(run(wanted), "");
  wanted = request("/a.txt");
  wanted.options["checksum"] = "md5:00000000000000000000000000000000";
  EXPECT_EQ(fetch(wanted, target_).code(), Code::failed_precondition);
  std::ofstream(served_ + "/SUMS") << "5d41402abc4b2a76b9719d911017c592  a.txt\n";
  wanted = request("/a.txt");
  wanted.options["checksum"] = "file:" + server_->url + "/SUMS";
  EXPECT_EQ(run(wanted), "");
  wanted = request("/a.tgz");
  wanted.options["checksum"] = "file:" + server_->url + "/SUMS";
  EXPECT_EQ(run(wanted), "no checksum found in: " + server_->url + "/SUMS");
}

TEST_F(FetchTest, ARepositoryOverHttp) {
  const std::string make = "cd " + served_ +
                           " && exec 2>&1 && git init -q -b main work && cd work && git config user.email a@b && "
                           "git config user.name a && echo one > file && git add file && git commit -qm one && "
                           "git tag v1 && echo two > file && git commit -qam two && cd .. && "
                           "git clone -q --bare work repo.git && cd repo.git && git update-server-info";
  if (std::system(make.c_str()) != 0) GTEST_SKIP() << "git does not work here";
  Request wanted = request("/repo.git");
  wanted.getter = "git";
  EXPECT_EQ(run(wanted), "");
  EXPECT_EQ(content("file"), "two\n");
  wanted = request("/repo.git");
  wanted.getter = "git";
  wanted.options["ref"] = "v1";
  EXPECT_EQ(run(wanted), "");  // the clone that is there
  EXPECT_EQ(content("file"), "one\n");
  wanted.options["ref"] = "--upload-pack=x";
  EXPECT_EQ(run(wanted), "ref \"--upload-pack=x\" is none");
  fs::remove_all(target_ + "/.git");
  wanted.options.clear();
  EXPECT_NE(run(wanted).find("is not empty and is no git repository"), std::string::npos);
}

// --- as a process of its own

class FetcherProcess : public FetchTest {
 protected:
  Status run_process(const Request& request, std::chrono::nanoseconds time = 20s, const std::stop_token& stop = {}) {
    const int folder = ::open(target_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const Status status = run_fetcher({.program = FETCHER,
                                       .request = to_json(request),
                                       .folder = folder,
                                       .environment = {"PATH=/usr/bin:/bin", "HOME=" + folder_ + "/home"},
                                       .time = time},
                                      stop);
    ::close(folder);
    return status;
  }
};

TEST_F(FetcherProcess, FetchesIntoItsFolder) {
  EXPECT_EQ(run_process(request("/a.tgz")), ok_status());
  EXPECT_EQ(content("dir/inner"), "x\n");
  EXPECT_EQ(run_process(request("/nothing")), invalid_argument("bad response code: 404"));
}

TEST_F(FetcherProcess, ReachesNothingElse) {
  std::ofstream(folder_ + "/canary") << "secret";
  fs::create_symlink("../canary", target_ + "/link");
  Request wanted = request("/a.txt");
  wanted.options["filename"] = "link";
  EXPECT_EQ(run_process(wanted), ok_status());  // the link is replaced
  EXPECT_EQ(content_of(folder_ + "/canary"), "secret");
  fs::create_directory_symlink(folder_, target_ + "/dir");
  (void)run_process(request("/a.tgz"));
  EXPECT_FALSE(fs::exists(folder_ + "/inner"));
}

TEST_F(FetcherProcess, TheKernelHoldsItInItsFolder) {
  if (::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) < 1)
    GTEST_SKIP() << "this kernel has no Landlock";
  Request wanted = request("/a.txt");  // as no agent asks for it
  wanted.mode = "file";
  wanted.file_name = "../escaped";
  EXPECT_FALSE(run_process(wanted).ok());
  EXPECT_FALSE(fs::exists(folder_ + "/escaped"));
  wanted = request("/a.txt");
  wanted.mode = "file";
  wanted.file_name = "../escaped";
  wanted.is_isolated = false;
  EXPECT_EQ(run_process(wanted), ok_status());
  EXPECT_TRUE(fs::exists(folder_ + "/escaped"));
}

TEST_F(FetcherProcess, EndsWithItsTimeAndWhenItIsStopped) {
  // A server that takes connections and never answers.
  const int silent = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(silent, reinterpret_cast<sockaddr*>(&address), size), 0);
  ::getsockname(silent, reinterpret_cast<sockaddr*>(&address), &size);
  ::listen(silent, 4);
  Request wanted = request("/x");
  wanted.url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/x";
  EXPECT_EQ(run_process(wanted, 300ms).code(), Code::deadline_exceeded);
  std::stop_source stop;
  std::thread stopper([&] {
    const int peer = ::accept(silent, nullptr, nullptr);
    stop.request_stop();
    ::close(peer);
  });
  const int first = ::accept(silent, nullptr, nullptr);  // of the run before
  ::close(first);
  EXPECT_EQ(run_process(wanted, 20s, stop.get_token()).code(), Code::cancelled);
  stopper.join();
  ::close(silent);
}

}  // namespace
}  // namespace drover::artifacts
