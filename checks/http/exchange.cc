#include "exchange.h"

#include <curl/curl.h>
#include <pthread.h>

#include <algorithm>
#include <optional>

#include "drover/check_provider.h"
#include "drover/freed.h"

#include "drover/v1/check_provider.pb.h"

namespace drover::check_http {
namespace {

constexpr int kLongestSleep = 60'000;  // milliseconds; it is woken when there is something to do

}  // namespace

struct Exchanges::Curl {
  Curl() { curl_global_init(CURL_GLOBAL_DEFAULT), multi.reset(curl_multi_init()); }
  std::unique_ptr<CURLM, Freed<curl_multi_cleanup>> multi;
};

struct Exchanges::Exchange {
  uint64_t number = 0;
  HttpRequest request;
  Told told;
  std::stop_token wanted;
  std::string body;
  bool is_cut = false;
  char error[CURL_ERROR_SIZE] = {};
  std::unique_ptr<curl_slist, Freed<curl_slist_free_all>> headers, connect_to;
  std::unique_ptr<CURL, Freed<curl_easy_cleanup>> handle;
  std::optional<std::stop_callback<std::function<void()>>> stop;

  // Ends the answer where enough of it is there.
  static size_t take(char* data, size_t, size_t size, void* to) {
    auto& exchange = *static_cast<Exchange*>(to);
    const size_t room = kMaxBody - exchange.body.size();
    exchange.body.append(data, std::min(size, room));
    if (size <= room) return size;
    exchange.is_cut = true;
    return 0;
  }

  void append(std::unique_ptr<curl_slist, Freed<curl_slist_free_all>>& list, const std::string& line) {
    if (curl_slist* longer = curl_slist_append(list.get(), line.c_str())) (void)list.release(), list.reset(longer);
  }

  bool prepare() {
    handle.reset(curl_easy_init());
    if (!handle) return false;
    CURL* const easy = handle.get();
    for (const std::string& header : request.headers) append(headers, header);
    curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(easy, CURLOPT_MAXREDIRS, kMostRedirects);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Exchange::take);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                     static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(request.timeout).count()));
    if (!request.body.empty()) {
      curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
      curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.c_str());
    }
    if (request.method == "HEAD") curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    if (request.method != "GET" || !request.body.empty())
      curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    if (request.skip_verify) {
      curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
      curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (!request.connect_to.empty()) append(connect_to, request.connect_to);
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, connect_to.get());
    return true;
  }

  v1::CheckResult result(CURLcode code) const {
    if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && is_cut)) {
      long status = 0;
      curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
      return judge(status, body);
    }
    return check::critical(check::cut_output(std::string("nomad: ") + (error[0] ? error : curl_easy_strerror(code))));
  }
};

Exchanges::Exchanges() = default;
Exchanges::~Exchanges() { stop(); }

void Exchanges::open() {
  if (curl_ || is_stopped_) return;
  curl_ = std::make_unique<Curl>();
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Exchanges::begin(HttpRequest request, std::stop_token stop, Told told) {
  auto exchange = std::make_unique<Exchange>();
  exchange->request = std::move(request);
  exchange->told = std::move(told);
  exchange->wanted = stop;
  Exchange* const made = exchange.get();
  uint64_t number = 0;
  {
    const MutexLock lock(mutex_);
    open();
    number = made->number = ++last_;
  }
  // Set before the thread has it; it may call at once.
  made->stop.emplace(std::move(stop), [this, number] { cancel(number); });
  {
    const MutexLock lock(mutex_);
    if (!is_stopped_) new_.push_back(std::move(exchange));
  }
  if (exchange) return exchange->told(unavailable("the check provider is stopping"));
  wake();
}

void Exchanges::cancel(uint64_t number) {
  {
    const MutexLock lock(mutex_);
    cancelled_.push_back(number);
  }
  wake();
}

void Exchanges::wake() {
  if (curl_) curl_multi_wakeup(curl_->multi.get());  // none: stopped before anything was asked
}

void Exchanges::stop() {
  {
    const MutexLock lock(mutex_);
    is_stopped_ = true;
    if (!thread_.joinable()) return;
  }
  thread_.request_stop();
  wake();
  thread_.join();
}

// ---- the thread

void Exchanges::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "checks-http");
  while (!stop.stop_requested()) {
    take_orders();
    int left = 0;
    curl_multi_perform(curl_->multi.get(), &left);
    collect();
    curl_multi_poll(curl_->multi.get(), nullptr, 0, kLongestSleep, nullptr);
  }
  end_all();
}

void Exchanges::take_orders() {
  std::deque<std::unique_ptr<Exchange>> begun;
  std::deque<uint64_t> cancelled;
  {
    const MutexLock lock(mutex_);
    begun.swap(new_);
    cancelled.swap(cancelled_);
  }
  for (auto& exchange : begun) start(std::move(exchange));
  for (const uint64_t number : cancelled) {
    auto node = running_.extract(number);
    if (node.empty()) continue;
    curl_multi_remove_handle(curl_->multi.get(), node.mapped()->handle.get());
    node.mapped()->told(drover::cancelled("the check was stopped"));
  }
}

void Exchanges::start(std::unique_ptr<Exchange> exchange) {
  // It was cancelled before it was here.
  if (exchange->wanted.stop_requested()) return exchange->told(drover::cancelled("the check was stopped"));
  if (!exchange->prepare() || curl_multi_add_handle(curl_->multi.get(), exchange->handle.get()) != CURLM_OK)
    return exchange->told(resource_exhausted("no memory for an HTTP request"));
  const uint64_t number = exchange->number;
  running_.emplace(number, std::move(exchange));
}

void Exchanges::collect() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(curl_->multi.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* const handle = message->easy_handle;
    const CURLcode code = message->data.result;
    Exchange* exchange = nullptr;
    curl_easy_getinfo(handle, CURLINFO_PRIVATE, &exchange);
    curl_multi_remove_handle(curl_->multi.get(), handle);
    auto node = running_.extract(exchange->number);
    exchange->told(exchange->result(code));
  }
}

void Exchanges::end_all() {
  take_orders();
  for (auto& [number, exchange] : running_) {
    curl_multi_remove_handle(curl_->multi.get(), exchange->handle.get());
    exchange->told(drover::cancelled("the check provider is stopping"));
  }
  running_.clear();
}

}  // namespace drover::check_http
