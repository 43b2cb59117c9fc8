/* SPDX-License-Identifier: MIT */
/* What is chosen, and what the program's own values change (KC-05, KC-07,
 * KC-08, KC-10): client-go's client_config_test.go by its meaning. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "config/install_hint.h"
#include "support/kube_world.h"
#include "transport/proxy.h"

/* A context `clean` in /k/config. */
#define CONFIG(cluster, user)                                                  \
  "clusters: [{name: clean, cluster: {" cluster "}}]\n"                        \
  "users: [{name: clean, user: {" user "}}]\n"                                 \
  "contexts: [{name: clean, context: {cluster: clean, user: clean}}]\n"        \
  "current-context: clean\n"
#define NAMES " context=clean cluster=clean user=clean"
#define A "server: 'https://a'"

#define V1 "client.authentication.k8s.io/v1"
#define VERSION "apiVersion: " V1

static kube_world world;

static int set_up(void **state) {
  (void)state;
  kube_world_init(&world, 0);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  kube_world_finish(&world);
  return 0;
}

static void expect(const char *text, const char *resolved) {
  kube_world_expect(&world, text, resolved);
}

static void expect_problem(const char *text, const char *problems) {
  kube_world_expect_problem(&world, text, problems);
}

/* --- As it stands --------------------------------------------------------- */

/* client-go TestCreateClean, TestCreateCleanDefault,
 * TestCreateCleanDefaultCluster; KC-05 */
static void test_current_context(void **state) {
  (void)state;
  expect(CONFIG(A ", tls-server-name: name", "token: the-token"),
         "server=https://a tls-server-name=name token=the-token" NAMES);
}

/* KC-05: every field of every kind reaches the result. */
static void test_every_field(void **state) {
  (void)state;
  kube_world_file(&world, "/k/c", "");
  kube_world_file(&world, "/k/k", "");
  kube_world_file(&world, "/k/t", "");
  expect(
      CONFIG(A ", tls-server-name: sni, insecure-skip-tls-verify: yes, "
               "proxy-url: 'http://p', disable-compression: true, "
               "extensions: [{name: other, extension: 1}, {name: "
               "client.authentication.k8s.io/exec, extension: {a: [1, b]}}]",
             "client-certificate: c, client-key: k, token: t, tokenFile: t, "
             "as: joe, as-uid: u1, as-groups: [g1, g2], as-user-extra: {k1: "
             "[v1, v2], k2: [v3]}, exec: {apiVersion: "
             "client.authentication.k8s.io/v1, command: run, args: [-a, ''], "
             "env: [{name: VAR, value: v}, {name: M}], installHint: hint, "
             "interactiveMode: Always, provideClusterInfo: true}"),
      "server=https://a tls-server-name=sni insecure=true proxy=http://p "
      "disable-compression=true cert=/k/c key=/k/k token=t token-file=/k/t "
      "exec=run version=client.authentication.k8s.io/v1 arg=-a arg= VAR=v M= "
      "hint=hint mode=Always info=true config={\"a\":[1,\"b\"]} as=joe "
      "as-uid=u1 as-group=g1 as-group=g2 k1=v1 k1=v2 k2=v3" NAMES);
}

/* client-go TestCertificateData, KC-05 */
static void test_data(void **state) {
  (void)state;
  expect(CONFIG(A ", certificate-authority-data: Y2EtZGF0YQ==",
                "client-certificate-data: Y2VydC1kYXRh, client-key-data: "
                "a2V5LWRhdGE="),
         "server=https://a ca-data=ca-data cert-data=cert-data "
         "key-data=key-data" NAMES);
}

/* client-go TestBasicAuthData, KC-05 */
/* KC-05: a key is used with a certificate only. */
static void test_key_without_a_certificate(void **state) {
  (void)state;
  expect(CONFIG(A, "client-key-data: YQ==, token: t"),
         "server=https://a token=t" NAMES);
}

static void test_basic(void **state) {
  (void)state;
  expect(CONFIG(A, "username: myuser, password: mypass"),
         "server=https://a username=myuser password=mypass" NAMES);
}

/* client-go TestDisableCompression, TR-07 */
static void test_disable_compression(void **state) {
  (void)state;
  expect(CONFIG(A ", disable-compression: true", ""),
         "server=https://a disable-compression=true" NAMES);
}

/* client-go TestProxyURL, TR-08 */
static void test_proxy_urls(void **state) {
  (void)state;
  const struct {
    const char *url;
    bool is_good;
  } rows[] = {
      {"socks5://example.com", true},
      {"https://example.com", true},
      {"http://example.com", true},
      {"HTTP://example.com", true},
      {"socks6://example.com", false},
      {"example.com", false},
      {"chewbacca@example.com", false},
      {"http:", false},
      {"http://", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[512];
    snprintf(text, sizeof text, CONFIG(A ", proxy-url: '%s'", ""), rows[i].url);
    int err = kube_world_load_text(&world, text);
    assert_int_equal(err, rows[i].is_good ? 0 : KIN_EINVAL);
    assert_string_equal(world.problems.text,
                        rows[i].is_good
                            ? ""
                            : "/k/config:1: clusters[0].cluster.proxy-url: is "
                              "no http, https or socks5 URL");
  }
}

/* client-go TestAuthConfigMerge, KC-05 */
static void test_exec(void **state) {
  (void)state;
  expect("apiVersion: v1\nclusters:\n- cluster:\n    server: "
         "https://localhost:8080\n    extensions:\n    - name: "
         "client.authentication.k8s.io/exec\n      extension:\n        "
         "audience: foo\n        other: bar\n  name: foo-cluster\ncontexts:\n- "
         "context:\n    cluster: foo-cluster\n    user: foo-user\n    "
         "namespace: bar\n  name: foo-context\ncurrent-context: "
         "foo-context\nkind: Config\nusers:\n- name: foo-user\n  user:\n    "
         "exec:\n      apiVersion: client.authentication.k8s.io/v1beta1\n     "
         " args:\n      - arg-1\n      - arg-2\n      command: foo-command\n   "
         "   provideClusterInfo: true\n",
         "server=https://localhost:8080 exec=foo-command "
         "version=client.authentication.k8s.io/v1beta1 arg=arg-1 arg=arg-2 "
         "mode=IfAvailable info=true config={\"audience\":\"foo\",\"other\":"
         "\"bar\"} namespace=bar context=foo-context cluster=foo-cluster "
         "user=foo-user");
}

/* client-go TestCreateAuthConfigExecInstallHintCleanup, XP-08 */
static void test_install_hint(void **state) {
  (void)state;
  expect(CONFIG(A, "exec: {" VERSION ", command: c, interactiveMode: Never, "
                   "installHint: \"some \\e[1mcontrol chars\\e[0m\\nand a "
                   "newline\"}"),
         "server=https://a exec=c version=" V1 " hint=some U+001B[1mcontrol "
         "charsU+001B[0m\nand a newline mode=Never" NAMES);
}

/* client-go TestCleanANSIEscapeCodes, XP-08 */
static void test_cleaning(void **state) {
  (void)state;
  const struct {
    const char *hint;
    const char *clean; /* NULL: the same */
  } rows[] = {
      {"\x1b[1mbold tuna\x1b[0m, fish", "U+001B[1mbold tunaU+001B[0m, fish"},
      {"\x1b[2Aup up, \x1b[2Cright", "U+001B[2Aup up, U+001B[2Cright"},
      {"tuna\nfish\r\nmarlin\t\r\ntuna\vfish\fmarlin", NULL},
      {"alpha: \u03b1, beta: \u03b2", NULL},
      {"tu\u0301na with a mark", NULL},
      {"t1na; with! some...punctuation \";)'", NULL},
      {"\u222b\u2081\u207f f(x) dx \u2248 \u2211 a \u2208 \u2115", NULL},
      {"a paragraph separator\u2029and\u2003em spaces", NULL},
      {"\xf0\x9f\x90\x9f", NULL},
      {"a\x7f\xc2\x9b\xc2\xad\xe2\x80\xae\xef\xbb\xbf",
       "aU+007FU+009BU+00ADU+202EU+FEFF"},
      {"\xf4\x8f\xbf\xbf\xf3\xa0\x80\x81", "U+10FFFFU+E0001"},
      {"\xc3", "\xc3"},
      {"", NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin__vault vault;
    kin__vault_init(&vault, &world.memory.allocator);
    const char *clean;
    assert_int_equal(kin__install_hint_clean(&vault, &clean, rows[i].hint), 0);
    assert_string_equal(clean,
                        rows[i].clean != NULL ? rows[i].clean : rows[i].hint);
    kin__vault_finish(&vault);
  }
}

/* --- Servers -------------------------------------------------------------- */

/* client-go TestCreateCleanWithPrefix, KC-07: a server without a scheme counts
 * as http, so it gets no credentials. */
static void test_servers(void **state) {
  (void)state;
  const struct {
    const char *server;
    const char *resolved;
  } rows[] = {
      {"https://anything.com:8080/foo/bar",
       "https://anything.com:8080/foo/bar token=t"},
      {"HTTPS://anything.com", "HTTPS://anything.com token=t"},
      {"http://anything.com:8080/foo/bar", "http://anything.com:8080/foo/bar"},
      {"http://anything.com:8080/foo/bar/",
       "http://anything.com:8080/foo/bar/"},
      {"http://anything.com:8080/", "http://anything.com:8080/"},
      {"http://anything.com:8080//", "http://anything.com:8080//"},
      {"https://a/path?query#fragment", "https://a/path token=t"},
      {"https://a/path#fragment", "https://a/path token=t"},
      {"anything.com:8080/foo/bar", "http://anything.com:8080/foo/bar"},
      {"anything.com:8080", "http://anything.com:8080"},
      {"anything", "http://anything"},
      {"[::1]:80", "http://[::1]:80"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[512];
    char resolved[512];
    snprintf(text, sizeof text, CONFIG("server: '%s'", "token: t"),
             rows[i].server);
    snprintf(resolved, sizeof resolved, "server=%s" NAMES, rows[i].resolved);
    expect(text, resolved);
  }
}

static void test_bad_servers(void **state) {
  (void)state;
  const char *const servers[] = {"ftp://a",     "https://",     "https://a?b",
                                 "https://a:x", "a b",          "https://a/?b",
                                 "/path",       "https://ä.com"};
  for (size_t i = 0; i < sizeof servers / sizeof *servers; i++) {
    char text[512];
    snprintf(text, sizeof text, CONFIG("server: '%s'", ""), servers[i]);
    expect_problem(text, "/k/config:1: clusters[0].cluster.server: is no "
                         "http:// or https:// URL of a host, a port and a "
                         "path");
  }
  expect_problem(CONFIG("server: 'https://joe:SECRET@a'", ""),
                 "/k/config:1: clusters[0].cluster.server: a URL with user "
                 "information is not supported");
}

/* KC-07: nothing of TLS and no credential goes to an http server, but who to
 * impersonate does. */
static void test_http_server(void **state) {
  (void)state;
  expect(CONFIG("server: 'http://a', tls-server-name: sni, "
                "certificate-authority-data: YQ==, proxy-url: 'http://p'",
                "client-certificate-data: YQ==, client-key-data: YQ==, token: "
                "t, tokenFile: /none, as: joe, exec: {apiVersion: a, command: "
                "c, interactiveMode: Never}"),
         "server=http://a proxy=http://p as=joe" NAMES);
  expect(CONFIG("server: 'http://a'", "username: a, password: b"),
         "server=http://a" NAMES);
}

/* --- Token files ---------------------------------------------------------- */

/* client-go TestBasicTokenFile, KC-08: read at once, so it must be there. */
static void test_token_file(void **state) {
  (void)state;
  const char *const text = CONFIG(A, "tokenFile: token");
  expect_problem(text, "/k/config:2: users[0].user.tokenFile: /k/token: there "
                       "is no such file");
  kube_world_file(&world, "/k/token", NULL);
  expect_problem(text, "/k/config:2: users[0].user.tokenFile: /k/token: "
                       "permission denied");
  kube_world_file(&world, "/k/token", "exampletoken");
  expect(text, "server=https://a token-file=/k/token" NAMES);
}

/* client-go TestPrecedenceTokenFile, KC-08: beside a token the file may come
 * later. */
static void test_token_and_file(void **state) {
  (void)state;
  expect(CONFIG(A, "token: expected, tokenFile: /none"),
         "server=https://a token=expected token-file=/none" NAMES);
}

/* --- Overrides ------------------------------------------------------------ */

/* client-go TestMergeSemantics, KC-05: a value that is given takes the place,
 * also a list; what is empty changes nothing. */
static void test_empty_overrides(void **state) {
  (void)state;
  static const char *const groups[] = {"g3"};
  const char *const text =
      CONFIG(A ", tls-server-name: sni, proxy-url: 'http://p'",
             "token: t, as: joe, as-uid: u, as-groups: [g1, g2], "
             "as-user-extra: {a: [b]}");
  world.options = (kin_kubeconfig_options){.context = "",
                                           .cluster = "",
                                           .user = "",
                                           .namespace_ = "",
                                           .server = "",
                                           .tls_server_name = "",
                                           .certificate_authority_file = "",
                                           .proxy_url = "",
                                           .token = "",
                                           .token_file = "",
                                           .client_certificate_file = "",
                                           .client_key_file = "",
                                           .username = "",
                                           .password = "",
                                           .impersonate_user = "",
                                           .impersonate_uid = "",
                                           .impersonate_groups = groups};
  expect(text, "server=https://a tls-server-name=sni proxy=http://p token=t "
               "as=joe as-uid=u as-group=g1 as-group=g2 a=b" NAMES);
  world.options.impersonate_group_count = 1;
  world.options.impersonate_user = "jane";
  expect(text, "server=https://a tls-server-name=sni proxy=http://p token=t "
               "as=jane as-uid=u as-group=g3 a=b" NAMES);
}

/* KC-05: each override, over a file that has something else. */
static void test_every_override(void **state) {
  (void)state;
  static const char *const groups[] = {"g"};
  world.options =
      (kin_kubeconfig_options){.server = "https://b",
                               .tls_server_name = "n2",
                               .certificate_authority_file = "/o/ca",
                               .proxy_url = "socks5://p2",
                               .token = "t2",
                               .token_file = "/o/token",
                               .client_certificate_file = "/o/cert",
                               .client_key_file = "/o/key",
                               .impersonate_user = "joe2",
                               .impersonate_uid = "u2",
                               .impersonate_groups = groups,
                               .impersonate_group_count = 1,
                               .namespace_ = "ns2"};
  kube_world_file(&world, "/o/ca", "");
  kube_world_file(&world, "/o/cert", "");
  kube_world_file(&world, "/o/key", "");
  expect(CONFIG(A ", tls-server-name: sni, insecure-skip-tls-verify: true, "
                  "proxy-url: 'http://p'",
                "token: t, tokenFile: /none, client-certificate-data: YQ==, "
                "client-key-data: YQ==, as: joe"),
         "server=https://b tls-server-name=n2 ca=/o/ca proxy=socks5://p2 "
         "cert=/o/cert key=/o/key token=t2 token-file=/o/token as=joe2 "
         "as-uid=u2 as-group=g namespace=ns2" NAMES);
  world.options = (kin_kubeconfig_options){.token = "t2"};
  expect(CONFIG(A, "tokenFile: /none"), "server=https://a token=t2" NAMES);
  kube_world_file(&world, "/o/token", "");
  world.options = (kin_kubeconfig_options){.token_file = "/o/token"};
  expect(CONFIG(A, "token: t"), "server=https://a token-file=/o/token" NAMES);
  world.options =
      (kin_kubeconfig_options){.username = "joe", .password = "secret"};
  expect(CONFIG(A, "username: a, password: b"),
         "server=https://a username=joe password=secret" NAMES);
}

/* client-go TestInsecureOverridesCA, KC-05 */
static void test_insecure_drops_authority(void **state) {
  (void)state;
  world.options.insecure_skip_tls_verify = true;
  expect(CONFIG(A ", certificate-authority: /none", ""),
         "server=https://a insecure=true" NAMES);
  expect(CONFIG(A ", certificate-authority-data: YQ==", ""),
         "server=https://a insecure=true" NAMES);
}

/* client-go TestCAOverridesCAData, KC-05 */
static void test_authority_drops_data(void **state) {
  (void)state;
  kube_world_file(&world, "/my.ca", "");
  world.options.certificate_authority_file = "/my.ca";
  expect(CONFIG(A ", certificate-authority-data: YQ==", ""),
         "server=https://a ca=/my.ca" NAMES);
  expect(CONFIG(A ", insecure-skip-tls-verify: true", ""),
         "server=https://a ca=/my.ca" NAMES);
}

/* client-go TestTLSServerName, TestTLSServerNameClearsWhenServerNameSet;
 * KC-05 */
static void test_tls_server_name(void **state) {
  (void)state;
  const char *const text = CONFIG(A ", tls-server-name: sni", "");
  world.options.tls_server_name = "mine";
  expect(text, "server=https://a tls-server-name=mine" NAMES);
  world.options.server = "https://b";
  expect(text, "server=https://b tls-server-name=mine" NAMES);
  world.options.tls_server_name = NULL;
  expect(text, "server=https://b" NAMES);
}

/* client-go TestFullImpersonateConfig, KC-05 */
static void test_full_impersonation(void **state) {
  (void)state;
  world.options.server = "http://something";
  expect(CONFIG(A, "as: alice, as-uid: abc123, as-groups: [group-1], "
                   "as-user-extra: {some-key: [some-value]}"),
         "server=http://something as=alice as-uid=abc123 as-group=group-1 "
         "some-key=some-value" NAMES);
}

/* client-go TestClientCertOverrideData, KC-05 */
static void test_client_certificate_drops_data(void **state) {
  (void)state;
  kube_world_file(&world, "/my.crt", "");
  kube_world_file(&world, "/my.key", "");
  world.options.client_certificate_file = "/my.crt";
  world.options.client_key_file = "/my.key";
  expect(CONFIG(A, "client-certificate-data: YQ==, client-key-data: YQ=="),
         "server=https://a cert=/my.crt key=/my.key" NAMES);
  world.options.client_certificate_file = NULL;
  expect(CONFIG(A, "client-certificate-data: YQ==, client-key-data: YQ=="),
         "server=https://a cert-data=a key=/my.key" NAMES);
}

/* client-go TestMergeRawConfigDoOverride, TestNamespaceOverride; KC-05, KC-10:
 * everything at once, on a context that is not the current one. */
static void test_overrides_of_a_context(void **state) {
  (void)state;
  const char *const text =
      "clusters:\n- {name: clean, cluster: {server: 'https://a'}}\n"
      "- {name: modify, cluster: {server: 'https://anything.com:8080'}}\n"
      "users:\n- {name: clean, user: {token: c}}\n"
      "- {name: modify, user: {token: the-token}}\n"
      "contexts:\n- {name: clean, context: {cluster: clean, user: clean}}\n"
      "- {name: modify, context: {cluster: modify, user: modify, namespace: "
      "modify}}\n"
      "current-context: clean\n";
  world.options.context = "modify";
  expect(text, "server=https://anything.com:8080 token=the-token "
               "namespace=modify context=modify cluster=modify user=modify");
  world.options = (kin_kubeconfig_options){.context = "modify",
                                           .cluster = "clean",
                                           .user = "clean",
                                           .namespace_ = "foobar",
                                           .token = "modified-token"};
  expect(text, "server=https://a token=modified-token namespace=foobar "
               "context=modify cluster=clean user=clean");
}

/* --- Names that do not exist ---------------------------------------------- */

/* client-go TestCreateMissingContext, TestCreateMissingContextNoDefault;
 * KC-05: names that the program gives must exist, and all are told. */
static void test_missing_names(void **state) {
  (void)state;
  const char *const text = CONFIG(A, "token: t");
  world.options.context = "not-present";
  expect_problem(text, "context: there is no context \"not-present\"");
  world.options.cluster = "c2";
  world.options.user = "u2";
  expect_problem(text, "context: there is no context \"not-present\"\n"
                       "cluster: there is no cluster \"c2\"\n"
                       "user: there is no user \"u2\"");
  world.options.server = "https://b";
  expect_problem(text, "context: there is no context \"not-present\"\n"
                       "cluster: there is no cluster \"c2\"\n"
                       "user: there is no user \"u2\"");
}

static void test_missing_current_context(void **state) {
  (void)state;
  const char *const text = "clusters: [{name: a, cluster: {" A "}}]\n"
                           "current-context: gone\n";
  expect_problem(text,
                 "/k/config:2: current-context: there is no context \"gone\"");
  world.options.cluster = "a";
  expect_problem(text,
                 "/k/config:2: current-context: there is no context \"gone\"");
}

/* KC-05: without a context the program's own choice counts. */
static void test_no_context(void **state) {
  (void)state;
  const char *const text = "clusters: [{name: a, cluster: {" A "}}]\n"
                           "users: [{name: u, user: {token: t}}]\n";
  world.options.cluster = "a";
  expect(text, "server=https://a cluster=a");
  world.options.user = "u";
  expect(text, "server=https://a token=t cluster=a user=u");
}

/* KC-06: a user that a context names and that is not there is empty; the
 * program is warned. A cluster that is not there explains the failure. */
static void test_dangling_context(void **state) {
  (void)state;
  expect("clusters: [{name: c, cluster: {" A "}}]\n"
         "contexts: [{name: x, context: {cluster: c, user: gone}}]\n"
         "current-context: x\n",
         "server=https://a context=x cluster=c user=gone");
  assert_string_equal(world.lines,
                      "2 kubeconfig: context \"x\" names a user \"gone\" that "
                      "does not exist: no credentials\n");
  assert_int_equal(
      kube_world_load_text(&world,
                           "contexts: [{name: x, context: {cluster: gone}}]\n"
                           "current-context: x\n"),
      KIN_ENOENT);
  assert_string_equal(
      world.problems.text,
      "/k/config:1: context.cluster: there is no cluster \"gone\"");
}

/* --- Problems of the choice ----------------------------------------------- */

/* KC-06: everything at once, in one text. */
static void test_all_problems_together(void **state) {
  (void)state;
  world.options.impersonate_uid = "u";
  world.options.certificate_authority_file = "/none";
  expect_problem(
      CONFIG("proxy-url: nothing",
             "\n  token: SECRET,\n  username: joe,\n  client-certificate: "
             "cert.pem,\n  client-certificate-data: YQ==,\n  exec: {env: "
             "[{value: SECRET}]}"),
      "/k/config:1: clusters[0].cluster.server: cluster \"clean\" has no "
      "server\n"
      "/k/config:1: clusters[0].cluster.proxy-url: is no http, https or socks5 "
      "URL\n"
      "certificate_authority_file: /none: there is no such file\n"
      "/k/config:5: users[0].user.client-certificate: contradicts the field "
      "with -data\n"
      "/k/config:5: users[0].user.client-certificate: /k/cert.pem: there is no "
      "such file\n"
      "/k/config:2: users[0].user.client-key: the client certificate needs a "
      "key\n"
      "/k/config:7: users[0].user.exec.command: is required\n"
      "/k/config:7: users[0].user.exec.apiVersion: is required\n"
      "/k/config:7: users[0].user.exec.env: entry 0 has no name\n"
      "/k/config:7: users[0].user.exec.interactiveMode: is required\n"
      "/k/config:3: users[0].user.token: contradicts username and password\n"
      "impersonate_uid: needs a user to impersonate");
}

/* A client refuses both; here the file is named. */
static void test_insecure_with_authority(void **state) {
  (void)state;
  expect_problem(CONFIG(A ",\n certificate-authority-data: YQ==,\n "
                          "insecure-skip-tls-verify: true",
                        ""),
                 "/k/config:3: clusters[0].cluster.insecure-skip-tls-verify: "
                 "contradicts a certificate authority");
  world.options.insecure_skip_tls_verify = true;
  world.options.certificate_authority_file = "/my.ca";
  kube_world_file(&world, "/my.ca", "");
  expect_problem(CONFIG(A, ""), "insecure_skip_tls_verify: contradicts a "
                                "certificate authority");
}

/* KC-11: the plugins that were compiled into kubectl are gone. */
static void test_auth_provider(void **state) {
  (void)state;
  expect_problem(CONFIG(A, "auth-provider: {name: gcp, config: {a: b}}"),
                 "/k/config:2: users[0].user.auth-provider: \"gcp\" is not "
                 "supported; exec takes its place");
  expect_problem(CONFIG(A, "auth-provider: {}"),
                 "/k/config:2: users[0].user.auth-provider: \"\" is not "
                 "supported; exec takes its place");
  expect(CONFIG(A, "auth-provider: ~"), "server=https://a" NAMES);
  expect(CONFIG("server: 'http://a'", "auth-provider: {name: gcp}"),
         "server=http://a" NAMES);
}

/* The path of a socket is no URL's: nothing of it is cut. */
static void test_socket(void **state) {
  (void)state;
  expect(CONFIG("server: 'unix:///run/a#b?c'", ""),
         "server=unix:///run/a#b?c" NAMES);
  world.options.server = "unix:///run/d?e";
  expect(CONFIG(A, ""), "server=unix:///run/d?e" NAMES);
}

static void test_namespace_is_checked(void **state) {
  (void)state;
  expect_problem(
      "clusters: [{name: c, cluster: {" A "}}]\n"
      "contexts: [{name: x, context: {cluster: c, namespace: A_b}}]\n"
      "current-context: x\n",
      "/k/config:2: contexts[0].context.namespace: \"A_b\" is no "
      "name of a namespace");
  world.options.namespace_ = "-a";
  expect_problem(CONFIG(A, ""), "namespace_: \"-a\" is no name of a namespace");
}

/* --- Values that no client takes ------------------------------------------ */

/* A value that a client would refuse with each request is told when the
 * kubeconfig is loaded, with the value's line, and without a secret. */
static void test_values_that_cannot_be_used(void **state) {
  (void)state;
  static const char in_user[] = "/k/config:2: users[0].user.";
  static const char in_cluster[] = "/k/config:1: clusters[0].cluster.";
#define SENT "is empty, begins or ends with a blank, or has control characters"
#define EXEC(more) "exec: {command: c, interactiveMode: Never, " more "}"
  const struct {
    const char *text;
    const char *where;
    const char *problem;
  } rows[] = {
      {CONFIG(A ", tls-server-name: a b", ""), in_cluster,
       "tls-server-name: is neither a host name nor an address"},
      {CONFIG(A, "token: SECRET b"), in_user,
       "token: is not one word of visible ASCII of at most 64 KiB"},
      {CONFIG(A, "token: SECRET b, tokenFile: /none"), in_user,
       "token: is not one word of visible ASCII of at most 64 KiB"},
      {CONFIG(A, "username: 'a:b', password: SECRET"), in_user,
       "username: has a colon, control characters or over 16 KiB"},
      {CONFIG(A, "username: a, password: \"SECRET\\n\""), in_user,
       "password: has control characters or over 16 KiB"},
      {CONFIG(A, "tokenFile: /k/t, username: a"), in_user,
       "tokenFile: contradicts username and password"},
      {CONFIG(A, "as: \"a\\nb\""), in_user, "as: " SENT},
      {CONFIG(A, "as: a, as-uid: ' u'"), in_user, "as-uid: " SENT},
      {CONFIG(A, "as: a, as-groups: [g, \"h\\n\"]"), in_user,
       "as-groups: " SENT},
      {CONFIG(A, "as: a, as-user-extra: {k: [\"h\\n\"]}"), in_user,
       "as-user-extra: " SENT},
      {CONFIG("server: 'http://a'", "as: \"a\\nb\""), in_user, "as: " SENT},
      {CONFIG(A, EXEC("apiVersion: " V1 "alpha1")), in_user,
       "exec.apiVersion: \"" V1 "alpha1\" is neither " V1 " nor " V1 "beta1"},
      {CONFIG(A, EXEC(VERSION ", env: [{name: a}, {name: b=c}]")), in_user,
       "exec.env: entry 1 has a name with '='"},
  };
#undef SENT
  kube_world_file(&world, "/k/t", "t");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char problem[256];
    snprintf(problem, sizeof problem, "%s%s", rows[i].where, rows[i].problem);
    expect_problem(rows[i].text, problem);
  }
}

static void test_malformed_proxy_url(void **state) {
  (void)state;
  if (!kin__proxy_is_supported()) {
    skip();
  }
  expect_problem(CONFIG(A ", proxy-url: 'http://joe:SECRET@p:x'", ""),
                 "/k/config:1: clusters[0].cluster.proxy-url: is malformed");
}

static void test_proxy_to_a_socket(void **state) {
  (void)state;
  if (!kin__proxy_is_supported()) {
    skip();
  }
  expect_problem(
      CONFIG("server: 'unix:///s', proxy-url: 'http://p'", ""),
      "/k/config:1: clusters[0].cluster.proxy-url: there is no proxy "
      "to a unix socket");
}

/* As a client: the bound is that of the decoded text. */
static void test_data_over_its_bound(void **state) {
  (void)state;
  static const char *const in_cluster = "certificate-authority-data";
  static const char *const of_user[] = {"client-certificate-data",
                                        "client-key-data"};
  const size_t groups = (2u << 20) / 3; /* of 4 letters for 3 bytes */
  static char data[(2u << 20) / 3 * 4 + 9];
  static char text[sizeof data + 1024];
  memset(data, 'Y', groups * 4);
  for (int is_over = 0; is_over < 2; is_over++) {
    strcpy(data + groups * 4, is_over != 0 ? "YYYY" : "YYY=");
    snprintf(text, sizeof text, CONFIG(A ", %s: %s", ""), in_cluster, data);
    assert_int_equal(kube_world_load_text(&world, text),
                     is_over != 0 ? KIN_EINVAL : 0);
  }
  assert_string_equal(world.problems.text,
                      "/k/config:1: clusters[0].cluster."
                      "certificate-authority-data: has over 2 MiB");
  for (int i = 0; i < 2; i++) {
    char problem[128];
    snprintf(text, sizeof text, CONFIG(A, "%s: YQ==, %s: %s"), of_user[1 - i],
             of_user[i], data);
    snprintf(problem, sizeof problem,
             "/k/config:2: users[0].user.%s: has over 2 MiB", of_user[i]);
    expect_problem(text, problem);
  }
}

/* By the name of its option, and all together. */
static void test_options_that_cannot_be_used(void **state) {
  (void)state;
  static const char *const groups[] = {""};
  world.options = (kin_kubeconfig_options){.tls_server_name = "a b",
                                           .token = "SECRET b",
                                           .impersonate_user = "a\nb",
                                           .impersonate_groups = groups,
                                           .impersonate_group_count = 1};
  assert_int_equal(kube_world_load_text(&world, CONFIG(A, "")), KIN_EINVAL);
  assert_int_equal(world.problems.count, 4);
  assert_non_null(strstr(world.problems.text, "tls_server_name: is neither"));
  assert_non_null(strstr(world.problems.text, "\ntoken: is not one word"));
  assert_non_null(strstr(world.problems.text, "\nimpersonate_user: is empty"));
  assert_non_null(strstr(world.problems.text, "\nimpersonate_groups: is em"));
  assert_null(strstr(world.problems.text, "SECRET"));
}

/* The bound of all that names the identity is one. */
static void test_identity_over_its_bound(void **state) {
  (void)state;
  static char group[40000];
  static const char *const groups[] = {group, group};
  memset(group, 'g', sizeof group - 1);
  world.options.impersonate_user = "joe";
  world.options.impersonate_groups = groups;
  world.options.impersonate_group_count = 1;
  assert_int_equal(kube_world_load_text(&world, CONFIG(A, "")), 0);
  world.options.impersonate_group_count = 2;
  expect_problem(CONFIG(A, ""), "impersonate_user: has over 64 KiB with its "
                                "groups and the like");
}

static void test_plugin_over_its_bound(void **state) {
  (void)state;
  static char text[8192];
  for (int count = 1024; count <= 1025; count++) {
    char args[4096] = "a";
    for (int i = 1; i < count; i++) {
      strcat(args, ",a");
    }
    snprintf(text, sizeof text,
             "clusters: [{name: '', cluster: {" A "}}]\n"
             "users: [{name: '', user: {" EXEC(VERSION ", args: [%s]") "}}]\n",
             args);
    assert_int_equal(kube_world_load_text(&world, text),
                     count == 1024 ? 0 : KIN_EINVAL);
  }
  assert_string_equal(world.problems.text,
                      "/k/config:2: users[0].user.exec: has more than 1024 "
                      "arguments or variables");
}

/* What is not used may be anything: to an http server no credential goes, and a
 * plugin is not asked beside other credentials. */
static void test_values_that_are_not_used(void **state) {
  (void)state;
  expect(CONFIG("server: 'http://a', tls-server-name: a b",
                "token: a b, " EXEC("apiVersion: v")),
         "server=http://a" NAMES);
  expect(CONFIG(A, "password: \"a\\n\""),
         "server=https://a password=a\n" NAMES);
  expect(CONFIG(A, "token: t, " EXEC("apiVersion: v")),
         "server=https://a token=t exec=c version=v mode=Never" NAMES);
}
#undef EXEC

/* --- What stays in memory ------------------------------------------------- */

static void test_secrets_are_wiped(void **state) {
  (void)state;
  world.memory.secrets[0] = "SECRET-WORD";
  world.memory.secrets[1] = "U0VDUkVULVdPUkQ="; /* in base64 */
  expect(CONFIG(A, "token: SECRET-WORD, client-certificate-data: YQ==, "
                   "client-key-data: U0VDUkVULVdPUkQ=, exec: {apiVersion: a, "
                   "command: c, interactiveMode: Never, args: [SECRET-WORD], "
                   "env: [{name: A, value: SECRET-WORD}]}"),
         "server=https://a cert-data=a key-data=SECRET-WORD token=SECRET-WORD "
         "exec=c version=a arg=SECRET-WORD A=SECRET-WORD mode=Never" NAMES);
  kin__resolved_config_finish(&world.config);
  assert_int_equal(world.memory.live_blocks, 0);
  assert_int_equal(world.memory.leaked_secrets, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_current_context),
      TEST(test_every_field),
      TEST(test_data),
      TEST(test_key_without_a_certificate),
      TEST(test_basic),
      TEST(test_disable_compression),
      TEST(test_proxy_urls),
      TEST(test_exec),
      TEST(test_install_hint),
      TEST(test_cleaning),
      TEST(test_servers),
      TEST(test_bad_servers),
      TEST(test_http_server),
      TEST(test_token_file),
      TEST(test_token_and_file),
      TEST(test_empty_overrides),
      TEST(test_every_override),
      TEST(test_insecure_drops_authority),
      TEST(test_authority_drops_data),
      TEST(test_tls_server_name),
      TEST(test_full_impersonation),
      TEST(test_client_certificate_drops_data),
      TEST(test_overrides_of_a_context),
      TEST(test_missing_names),
      TEST(test_missing_current_context),
      TEST(test_no_context),
      TEST(test_dangling_context),
      TEST(test_all_problems_together),
      TEST(test_insecure_with_authority),
      TEST(test_auth_provider),
      TEST(test_socket),
      TEST(test_namespace_is_checked),
      TEST(test_values_that_cannot_be_used),
      TEST(test_malformed_proxy_url),
      TEST(test_proxy_to_a_socket),
      TEST(test_data_over_its_bound),
      TEST(test_options_that_cannot_be_used),
      TEST(test_identity_over_its_bound),
      TEST(test_plugin_over_its_bound),
      TEST(test_values_that_are_not_used),
      TEST(test_secrets_are_wiped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
