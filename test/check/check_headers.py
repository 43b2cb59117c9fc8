#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles each public header alone, as C11 and as C++17, and the initializer
macros in both. What the comments name is declared somewhere. Usage: check_headers.py SOURCE_DIR BUILD_INCLUDE_DIR CC CXX
"""

import pathlib
import re
import subprocess
import sys

FLAGS = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
INITIALIZERS = """
#include <kin/cache.h>
#include <kin/controllers.h>
#include <kin/kubeconfig.h>
#include <kin/discovery.h>
#include <kin/request.h>
#include <kin/toolkit.h>
#include <kin/testing/fake_source.h>
kin_client_options a(void); kin_client_options a(void)
{ kin_client_options o = KIN_CLIENT_OPTIONS_INIT; return o; }
kin_informer_options b(void); kin_informer_options b(void)
{ kin_informer_options o = KIN_INFORMER_OPTIONS_INIT; return o; }
kin_listener_options c(void); kin_listener_options c(void)
{ kin_listener_options o = KIN_LISTENER_OPTIONS_INIT; return o; }
kin_index_options d(void); kin_index_options d(void)
{ kin_index_options o = KIN_INDEX_OPTIONS_INIT; return o; }
kin_store_options e(void); kin_store_options e(void)
{ kin_store_options o = KIN_STORE_OPTIONS_INIT; return o; }
kin_expiring_store_options f(void); kin_expiring_store_options f(void)
{ kin_expiring_store_options o = KIN_EXPIRING_STORE_OPTIONS_INIT; return o; }
kin_mutation_cache_options g(void); kin_mutation_cache_options g(void)
{ kin_mutation_cache_options o = KIN_MUTATION_CACHE_OPTIONS_INIT; return o; }
kin_mutation_detector_options md(void); kin_mutation_detector_options md(void)
{ kin_mutation_detector_options o = KIN_MUTATION_DETECTOR_OPTIONS_INIT; return o; }
kin_push_store_options h(void); kin_push_store_options h(void)
{ kin_push_store_options o = KIN_PUSH_STORE_OPTIONS_INIT; return o; }
kin_heap_options i(void); kin_heap_options i(void)
{ kin_heap_options o = KIN_HEAP_OPTIONS_INIT; return o; }
kin_lazy_options j(void); kin_lazy_options j(void)
{ kin_lazy_options o = KIN_LAZY_OPTIONS_INIT; return o; }
kin_lister_watcher k(void); kin_lister_watcher k(void)
{ kin_lister_watcher o = KIN_LISTER_WATCHER_INIT; return o; }
kin_feed_error l(void); kin_feed_error l(void)
{ kin_feed_error o = KIN_FEED_ERROR_INIT; return o; }
kin_factory_options u(void); kin_factory_options u(void)
{ kin_factory_options o = KIN_FACTORY_OPTIONS_INIT; return o; }
kin_wait_options v(void); kin_wait_options v(void)
{ kin_wait_options o = KIN_WAIT_OPTIONS_INIT; return o; }
kin_retry_watcher_options wa(void); kin_retry_watcher_options wa(void)
{ kin_retry_watcher_options o = KIN_RETRY_WATCHER_OPTIONS_INIT; return o; }
kin_informer_watcher_options wb(void); kin_informer_watcher_options wb(void)
{ kin_informer_watcher_options o = KIN_INFORMER_WATCHER_OPTIONS_INIT;
  return o; }
kin_until_options wc(void); kin_until_options wc(void)
{ kin_until_options o = KIN_UNTIL_OPTIONS_INIT; return o; }
kin_pager_options pa(void); kin_pager_options pa(void)
{ kin_pager_options o = KIN_PAGER_OPTIONS_INIT; return o; }
kin_request_spec rq(void); kin_request_spec rq(void)
{ kin_request_spec o = KIN_REQUEST_SPEC_INIT; return o; }
kin_process_handlers x(void); kin_process_handlers x(void)
{ kin_process_handlers o = KIN_PROCESS_HANDLERS_INIT; return o; }
kin_controller_options y(void); kin_controller_options y(void)
{ kin_controller_options o = KIN_CONTROLLER_OPTIONS_INIT; return o; }
kin_queue_options q(void); kin_queue_options q(void)
{ kin_queue_options o = KIN_QUEUE_OPTIONS_INIT; return o; }
kin_reflector_options ro(void); kin_reflector_options ro(void)
{ kin_reflector_options o = KIN_REFLECTOR_OPTIONS_INIT; return o; }
kin_reflector_store rs(void); kin_reflector_store rs(void)
{ kin_reflector_store o = KIN_REFLECTOR_STORE_INIT; return o; }
kin_status st(void); kin_status st(void)
{ kin_status o = KIN_STATUS_INIT; return o; }
kin_client_stats cs(void); kin_client_stats cs(void)
{ kin_client_stats o = KIN_CLIENT_STATS_INIT; return o; }
kin_controller_stats co(void); kin_controller_stats co(void)
{ kin_controller_stats o = KIN_CONTROLLER_STATS_INIT; return o; }
kin_informer_metrics im(void); kin_informer_metrics im(void)
{ kin_informer_metrics o = KIN_INFORMER_METRICS_INIT; return o; }
bool has(const kin_event *event); bool has(const kin_event *event)
{ return KIN_HAS(event, kin_event, objects); }
kin_fake_source_options fs(void); kin_fake_source_options fs(void)
{ kin_fake_source_options o = KIN_FAKE_SOURCE_OPTIONS_INIT; return o; }
"""

# What is built is at least itself, and not the next of anything.
VERSION = """
#include <kin/version.h>
#if !KIN_VERSION_AT_LEAST(KIN_VERSION_MAJOR, KIN_VERSION_MINOR, \\
                          KIN_VERSION_PATCH) || !KIN_VERSION_AT_LEAST(0, 0, 9)
#error "older than itself"
#endif
#if KIN_VERSION_AT_LEAST(KIN_VERSION_MAJOR, KIN_VERSION_MINOR, \\
                         KIN_VERSION_PATCH + 1) || \\
    KIN_VERSION_AT_LEAST(KIN_VERSION_MAJOR, KIN_VERSION_MINOR + 1, 0) || \\
    KIN_VERSION_AT_LEAST(KIN_VERSION_MAJOR + 1, 0, 0)
#error "newer than itself"
#endif
extern int unused;
"""


def unknown_names(texts):
    """Names of ours that a comment has and no header declares."""
    code = "\n".join(re.sub(r"/\*.*?\*/", "", t, flags=re.S) for t in texts)
    declared = set(re.findall(r"\w+", code))
    declared |= {f"KIN_{name}" for name in re.findall(r"XX\((\w+),", code)}
    comments = " ".join(c for t in texts
                        for c in re.findall(r"/\*.*?\*/", t, flags=re.S))
    names = {part for name in re.findall(r"\b[kK][iI][nN]_\w+(?:\.\w+)?",
                                         comments)
             for part in name.split(".")}
    return sorted(n for n in names - declared if not n.endswith("_"))


def compiles(compiler, language, includes, text):
    run = subprocess.run([compiler, *language, *FLAGS, *includes, "-"],
                         input=text, capture_output=True, text=True)
    if run.returncode != 0:
        print(run.stderr)
    return run.returncode == 0


def main():
    source, build, cc, cxx = sys.argv[1:]
    includes = ["-I", f"{source}/include", "-I", build]
    c_language = (cc, ["-x", "c", "-std=gnu11"])
    languages = [c_language]
    if cxx != "none":
        languages.append((cxx, ["-x", "c++", "-std=c++17",
                                "-Wold-style-cast"]))
    include = pathlib.Path(source, "include")
    texts = {path.name: f"#include <{path.relative_to(include)}>\n"
                        "extern int unused;\n"
             for path in include.rglob("*.h")}
    texts["initializers"] = INITIALIZERS
    texts["version"] = VERSION
    unknown = unknown_names([p.read_text() for p in include.rglob("*.h")])
    print(f"{'FAIL' if unknown else 'ok'}: unknown names {unknown}")
    passed, failed = (0, 1) if unknown else (1, 0)
    for compiler, language in languages:
        for name, text in sorted(texts.items()):
            holds = compiles(compiler, language, includes, text)
            print(f"{'ok' if holds else 'FAIL'}: {name} by {compiler}")
            passed += holds
            failed += not holds
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
