# SPDX-License-Identifier: MIT
"""Makes the objects of the scenarios, odd ones among them."""

GROUP = "e2e.kinformer.test"
WIDGETS = f"widgets.v1.{GROUP}"


def config_map(name, data=None, labels=None, annotations=None):
    return {"metadata": _metadata(name, labels, annotations),
            "data": {"value": "0"} if data is None else data}


def pod(name, labels=None, annotations=None, environment=None):
    return {"metadata": _metadata(name, labels, annotations),
            "spec": {"containers": [{
                "name": "main", "image": "example.test/image:1",
                "env": [{"name": n, "value": v}
                        for n, v in (environment or {}).items()]}]}}


def widget(name, spec, annotations=None):
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget",
            "metadata": _metadata(name, None, annotations), "spec": spec}


def widgets(namespace):
    """The collection's path."""
    return f"/apis/{GROUP}/v1/namespaces/{namespace}/widgets"


def _metadata(name, labels, annotations):
    metadata = {"name": name}
    if labels:
        metadata["labels"] = labels
    if annotations:
        metadata["annotations"] = annotations
    return metadata


def widget_definition():
    """A custom resource whose spec may be anything."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{GROUP}"},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget",
                      "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{
                "name": "v1", "served": True, "storage": True,
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {"spec": {
                        "x-kubernetes-preserve-unknown-fields": True}}}},
            }],
        },
    }


# Strings that a scanner for quotes, escapes, braces or lines may stumble over.
ODD_STRINGS = {
    "empty": "",
    "quotes": "\" \\\" \\\\\" '",
    "backslashes": "\\" * 1, "even-backslashes": "\\" * 4,
    "odd-backslashes": "\\" * 7, "escaped-end": "\\\"",
    "looks-like-json": '{"metadata":{"name":"x","resourceVersion":"1"}}',
    "looks-like-the-end": '"}}],"metadata":{"resourceVersion":"0"}}\n{"type":',
    "half-of-json": '}]}{[",:',
    "controls": "".join(map(chr, range(32))) + "\x7f",
    "line-ends": "a\nb\r\nc\rd\x85e\u2028f\u2029g",
    "two-bytes": "\u00df\u00e4\u0436\u05d0",
    "three-bytes": "\u6f22\u5b57\u0e01\ufeff\ufffd\uffff",
    "four-bytes": "\U0001f600\U0001f468\u200d\U0001f469\U0010ffff",
    "combining": "e\u0301 \u202e right to left \u200b",
    "html": "<b>&amp;</b> \u003c\u003e",
    "escapes-spelled-out": "\\u0041 \\n \\ud83d\\ude00",
    "spaces": " \t leading and trailing \t ",
    # Around the sizes of reads, of vector steps and of small buffers.
    **{f"length-{n}": "x" * (n - 1) + "\"" for n in
       (15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 4095, 4096, 4097)},
}

LONG_STRING = "long \u00e9 \\ \" \U0001f600 " * 15000  # some 300 KB of UTF-8


def nested(depth):
    """Arrays in objects in arrays, depth deep."""
    value = "innermost"
    for i in range(depth):
        value = {"inner": value} if i % 2 else [value]
    return value


# Members whose names are odd too, for an object that may have any.
ODD_SPEC = {
    "strings": ODD_STRINGS,
    **{text: name for name, text in ODD_STRINGS.items() if text},
    "metadata": {"name": "not mine", "uid": "not mine",
                 "resourceVersion": "1", "namespace": "not mine"},
    "items": [{"metadata": {"name": "not an item"}}],
    "type": "DELETED", "object": {"kind": "Status", "code": 410},
    "numbers": [0, -1, 9007199254740993, -9223372036854775808,
                9223372036854775807, 0.1, -2.5e-7, 1e300],
    "others": [True, False, {}, [], [[]], [{}]],
    "deep": nested(60),
}
