// SPDX-License-Identifier: MIT

// kinformer for C++17: a start that a program copies and extends. A pod, a
// client or an informer is an object with one owner; a kin_str is a
// std::string_view; a negative result is an exception. The C functions stay
// usable beside the wrapper: each class hands out its C pointer.

#ifndef EXAMPLES_KIN_HPP
#define EXAMPLES_KIN_HPP

#include <functional>
#include <list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include <kin/kin.h>

namespace kin {

inline std::string_view view(kin_str s) {
  return {s.data, s.length};
}
inline kin_str str(std::string_view s) {
  return {s.data(), s.size()};
}

// `problem` is a text of the library that says more, or "".
inline void check(int status, const char *what, const char *problem = "") {
  if (status < 0) {
    const std::string text = std::string(what) + ": " + kin_strerror(status);
    throw std::runtime_error(*problem ? text + ": " + problem : text);
  }
}

// One reference to an object. The string_views live as long as the reference.
class object {
public:
  explicit object(const kin_object *o) : object_(kin_object_ref(o)) {
  }
  object(const object &other) : object(other.object_) {
  }
  object &operator=(object other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~object() {
    kin_object_unref(object_);
  }

  const kin_object *get() const {
    return object_;
  }
  std::string_view key() const {
    return view(kin_object_key(object_));
  }
  std::string_view name() const {
    return view(kin_object_name(object_));
  }

  // The string at a JSON Pointer, or "" where there is nothing or something
  // else.
  std::string text(const char *pointer) const {
    kin_object_view *open = nullptr;
    check(kin_object_view_open(&open, object_), "kin_object_view_open");
    std::unique_ptr<kin_object_view, decltype(&kin_object_view_close)> owner(
        open, kin_object_view_close);
    kin_str value = {nullptr, 0};
    const int err = kin_object_view_string(open, pointer, &value);
    check(err == KIN_ENOENT || err == KIN_ETYPE ? 0 : err, pointer);
    return std::string(value.data ? value.data : "", value.length);
  }

private:
  kin_object *object_;
};

// A handler must not throw: the library that calls it is C. Each function that
// C calls is noexcept, so an exception ends the program. A handler may be left
// out.
struct handlers {
  std::function<void(const kin_event &)> on_change;
  std::function<void(const kin_event &)> on_synced;
  std::function<void(const kin_error_event &)> on_error;
};

// A client and the handlers of its informers. The destructor begins the close.
// The loop must run on to the end of it, as for each handle of libuv.
class client {
public:
  explicit client(kin_client *c) : client_(c), all_(new std::list<handlers>) {
  }
  client(const client &) = delete;
  client &operator=(const client &) = delete;
  ~client() {
    auto gone = [](void *all) { delete static_cast<decltype(all_)>(all); };
    kin_client_close(client_, gone, all_);
  }

  kin_client *get() const {
    return client_;
  }

  // An informer that lives as long as the client, with an index if `by` says
  // where its values are.
  kin_informer *follow(kin_informer_options resource, handlers own,
                       const char *by = nullptr) {
    handlers *data = &all_->emplace_back(std::move(own));
    resource.data = data;
    resource.on_error = [](kin_informer *, kin_error_event *event,
                           void *h) noexcept {
      call(static_cast<handlers *>(h)->on_error, *event);
    };
    kin_informer *informer = nullptr;
    check_options(kin_informer_open(&informer, client_, &resource), "open");
    if (by != nullptr) {
      kin_index_options index = KIN_INDEX_OPTIONS_INIT;
      index.name = index.pointer = by;
      check_options(kin_store_add_index(kin_informer_store(informer), &index),
                    by);
    }
    auto change = [](kin_informer *, const kin_event *event, void *h) noexcept {
      call(static_cast<handlers *>(h)->on_change, *event);
    };
    kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
    listener.on_add = listener.on_update = listener.on_delete = change;
    listener.on_synced = [](kin_informer *, const kin_event *event,
                            void *h) noexcept {
      call(static_cast<handlers *>(h)->on_synced, *event);
    };
    listener.data = data;
    check_options(kin_informer_listen(informer, &listener, nullptr), "listen");
    check(kin_informer_start(informer), "start");
    return informer;
  }

private:
  void check_options(int status, const char *what) const {
    check(status, what, kin_client_problem(client_));
  }

  template <typename Event>
  static void call(const std::function<void(const Event &)> &handler,
                   const Event &event) {
    if (handler) {
      handler(event);
    }
  }

  kin_client *client_;
  std::list<handlers> *all_; // addresses stay; freed when the client is gone
};

} // namespace kin

#endif // EXAMPLES_KIN_HPP
