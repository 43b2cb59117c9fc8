/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <errno.h>
#include <stdio.h>

#include <kin/error.h>
#include <kin/version.h>

static const char text[] =
    "usage: kinformer RESOURCE [options]\n"
    "\n"
    "Keeps a view of a resource of a Kubernetes API server and prints every\n"
    "change until it is interrupted.\n"
    "\n"
    "RESOURCE is what kubectl takes: pods, po, pod, Pod, deployments.apps,\n"
    "widgets.v1.example.com, deployments/web. The server is asked about what "
    "is\n"
    "not built in.\n"
    "\n"
    "What to follow:\n"
    "  -n, --namespace NS         a namespace; may be given several times. "
    "Without\n"
    "                             -n and -A: that of the context, or default\n"
    "  -A, --all-namespaces       all namespaces; also for custom resources "
    "that\n"
    "                             have none\n"
    "  -l, --selector SELECTOR    only objects with these labels\n"
    "      --field-selector S     only objects with these fields\n"
    "      --shard I/N            only shard I, from 0, of N equal parts of "
    "the\n"
    "                             objects, by their uids\n"
    "      --page-size N          objects per page of a list; 0: all at once.\n"
    "                             Default 500\n"
    "      --no-watch-list        ask for lists; by default for a watch that "
    "begins\n"
    "                             with what there is, if the server knows "
    "that\n"
    "\n"
    "Which server (by default the one that kubectl would use: KUBECONFIG, or\n"
    "~/.kube/config, or the server of the pod):\n"
    "      --kubeconfig FILE      this file\n"
    "      --context NAME         this context instead of the current one\n"
    "      --cluster NAME, --user NAME\n"
    "                             instead of those of the context\n"
    "      --server URL           https://host[:port][/prefix], http://... "
    "or\n"
    "                             unix:///path; no file is read then\n"
    "      --as USER              impersonate this user\n"
    "      --as-group GROUP       and this group; may be given several times\n"
    "\n"
    "Who the server is, and who you are (with an https:// server):\n"
    "      --certificate-authority FILE\n"
    "                             whose certificates the server's must come "
    "from.\n"
    "                             Default: those the system trusts\n"
    "      --tls-server-name NAME the name its certificate must have. "
    "Default:\n"
    "                             the host of the server's URL\n"
    "      --insecure-skip-tls-verify\n"
    "                             take any server for the right one\n"
    "      --token TOKEN          a bearer token; others may see it for a "
    "moment\n"
    "      --token-file FILE      a bearer token, read again when it changes; "
    "once\n"
    "                             it could be read it beats --token\n"
    "      --client-certificate FILE, --client-key FILE\n"
    "                             a certificate and its key instead of a "
    "token\n"
    "\n"
    "What to keep of each object:\n"
    "      --metadata-only        ask the server for metadata only\n"
    "      --keep-managed-fields  keep metadata.managedFields too\n"
    "      --fields P,...         keep only these fields (JSON Pointers, such "
    "as\n"
    "                             /spec/nodeName); identity and labels always "
    "are\n"
    "      --max-bytes N[Ki|Mi|Gi]\n"
    "                             hold at most so many bytes of objects\n"
    "      --on-max-bytes WHAT    drop (keep keys and labels only), pause, or "
    "stop.\n"
    "                             Default pause, with --once stop\n"
    "      --compact[=small]      keep objects compressed in memory; small: a "
    "sixth\n"
    "                             less memory or more, for 5 to 8 times the "
    "time\n"
    "\n"
    "What to print:\n"
    "  -o, --output FORMAT        jsonl or table. Default: table on a "
    "terminal,\n"
    "                             else jsonl\n"
    "      --show-object          the whole object in each line (jsonl)\n"
    "      --index POINTER        once in sync, print the keys of the objects "
    "that\n"
    "      --by VALUE             have VALUE at POINTER\n"
    "      --resync SECONDS       print every object again this often; 0: "
    "never\n"
    "      --stats                at the end, one JSON object on standard "
    "error\n"
    "\n"
    "When to end:\n"
    "      --once                 when in sync, or refused twice (exit 1)\n"
    "      --exit-after N         after N changes past the first sync\n"
    "      --timeout SECONDS      with status 3, unless it has ended before\n"
    "\n"
    "  -h, --help                 this text\n"
    "      --version              the version\n"
    "\n"
    "Exit status: 0 as asked or interrupted, 1 a failure that ended it, such\n"
    "as no server, 2 the command line is wrong, 3 timeout.\n";

/* A text that is longer than the buffer has been written in part before. */
static int end_output(void) {
  if (fflush(stdout) == 0 && !ferror(stdout)) {
    return EXIT_DONE;
  }
  fprintf(stderr, "kinformer: standard output: %s\n",
          kin_strerror(uv_translate_sys_error(errno)));
  return EXIT_FAILED;
}

int print_help(void) {
  fputs(text, stdout);
  return end_output();
}

int print_version(void) {
  printf("kinformer %s (libkinformer %s)\n", KIN_VERSION_STRING,
         kin_version_string());
  return end_output();
}
