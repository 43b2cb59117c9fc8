// SPDX-License-Identifier: MIT

// An agent on each node, in C++17: which pod is this container of?
//
//     tail -f ids | NODE_NAME=n1 node_agent [http://127.0.0.1:8001]
//
// The server sends the pods of one node only. Each line that comes in on
// standard input is a container's id, with or without "containerd://" in front;
// the line that goes out is the id and the pod's namespace, name, node and IP
// address. A line of more than 4,096 bytes is answered with "too long". What
// comes in before the first list is complete waits in the pipe.
// End of input ends the agent. kin.hpp, beside this file, is the wrapper.

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include <uv.h>

#include <kin/kubeconfig.h>

#include "kin.hpp"

namespace {

constexpr char BY_CONTAINER[] = "/status/containerStatuses/*/containerID";
constexpr size_t MAX_LINE = 4096; // in bytes, without the newline

class agent {
public:
  agent(uv_loop_t *loop, kin_client *client, const char *node)
      : loop_(loop), client_(std::make_unique<kin::client>(client)) {
    const std::string selector = std::string("spec.nodeName=") + node;
    kin_informer_options resource = KIN_INFORMER_OPTIONS_INIT;
    resource.plural = "pods";
    resource.field_selector = selector.c_str();
    kin::handlers handlers;
    handlers.on_change = [](const kin_event &) {}; // the cache is what counts
    handlers.on_synced = [this](const kin_event &e) { begin(e.objects); };
    handlers.on_error = [](const kin_error_event &e) {
      std::cerr << "node_agent: " << e.message << '\n';
    };
    pods_ = client_->follow(resource, std::move(handlers), BY_CONTAINER);
  }

private:
  void begin(size_t pods) {
    std::cerr << "node_agent: " << pods << " pods\n";
    uv_pipe_init(loop_, &input_, 0);
    input_.data = this;
    auto room = [](uv_handle_t *handle, size_t, uv_buf_t *buf) {
      agent *self = static_cast<agent *>(handle->data);
      *buf = uv_buf_init(self->bytes_, sizeof(bytes_));
    };
    auto read = [](uv_stream_t *stream, ssize_t n, const uv_buf_t *) {
      static_cast<agent *>(stream->data)->take(n);
    };
    auto *stream = reinterpret_cast<uv_stream_t *>(&input_);
    if (uv_pipe_open(&input_, 0) != 0 ||
        uv_read_start(stream, room, read) != 0) {
      end();
    }
  }

  void take(ssize_t n) {
    if (n > 0) {
      line_.append(bytes_, static_cast<size_t>(n));
    } else if (n < 0 && !line_.empty()) {
      line_ += '\n'; // which the last line lacks
    }
    size_t begin = 0;
    for (size_t at; (at = line_.find('\n', begin)) != std::string::npos;
         begin = at + 1) {
      answer(std::string_view(line_).substr(begin, at - begin));
    }
    line_.erase(0, begin);
    line_.resize(std::min(line_.size(), MAX_LINE + 1));
    std::cout.flush();
    if (n < 0) {
      end();
    }
  }

  void answer(std::string_view id) const {
    if (id.size() > MAX_LINE) {
      std::cout << "too long\n";
      return;
    }
    std::string value(id);
    if (id.find("://") == std::string_view::npos) {
      value.insert(0, "containerd://");
    }
    kin_index_cursor cursor;
    const kin_store *store = kin_informer_store(pods_);
    kin_store_by_index(store, BY_CONTAINER, kin::str(value), &cursor);
    const kin_object *found = kin_store_by_index_next(store, &cursor);
    if (found == nullptr) {
      std::cout << id << " unknown\n";
      return;
    }
    const kin::object pod(found);
    std::cout << id << ' ' << pod.key() << ' ' << pod.text("/spec/nodeName")
              << ' ' << pod.text("/status/podIP") << '\n';
  }

  void end() {
    uv_close(reinterpret_cast<uv_handle_t *>(&input_), nullptr);
    client_.reset(); // begins the close; uv_run returns after it
  }

  uv_loop_t *loop_;
  std::unique_ptr<kin::client> client_;
  kin_informer *pods_ = nullptr;
  uv_pipe_t input_;
  char bytes_[MAX_LINE];
  std::string line_; // what has come of the line that is not whole yet
};

kin_client *open_client(uv_loop_t *loop, const char *server) {
  kin_client *client = nullptr;
  if (server == nullptr) {
    kin::check(kin_client_open_default(&client, loop), "open");
    return client;
  }
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  char problem[256] = "";
  options.server = server;
  options.problem = problem;
  options.problem_size = sizeof(problem);
  const int err = kin_client_open(&client, loop, &options);
  kin::check(err, "open", problem);
  return client;
}

// A loop cannot wait for a file or /dev/null: uv_run would abort.
bool is_stream(uv_handle_type input) {
  return input == UV_NAMED_PIPE || input == UV_TTY || input == UV_TCP;
}

} // namespace

int main(int argc, char **argv) {
  const char *node = std::getenv("NODE_NAME");
  if (node == nullptr) {
    std::cerr << "node_agent: NODE_NAME is not set\n";
    return 2;
  }
  if (!is_stream(uv_guess_handle(0))) {
    std::cerr << "node_agent: standard input is no pipe: "
                 "cat FILE | node_agent\n";
    return 2;
  }
  uv_loop_t *loop = uv_default_loop();
  int status = 0;
  try {
    agent the_agent(loop, open_client(loop, argc > 1 ? argv[1] : nullptr),
                    node);
    uv_run(loop, UV_RUN_DEFAULT);
  } catch (const std::exception &error) {
    std::cerr << "node_agent: " << error.what() << '\n';
    status = 1;
    uv_run(loop, UV_RUN_DEFAULT); // the client closes
  }
  return uv_loop_close(loop) == 0 ? status : 1;
}
