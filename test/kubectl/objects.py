# SPDX-License-Identifier: MIT
"""Objects as users of kubectl write them."""


def config_map(data, name="m", **metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, **metadata}, "data": data}


def container(name, image="1", **members):
    return {"name": name, "image": image, **members}


def deployment(*containers, **spec):
    labels = {"app": "d"}
    return {"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "d", "labels": labels},
            "spec": {"selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": list(containers)}}, **spec}}


def definition():
    spec = {"type": "object", "properties": {
        "size": {"type": "integer"},
        "parts": {"type": "array", "x-kubernetes-list-type": "map",
                  "x-kubernetes-list-map-keys": ["id"],
                  "items": {"type": "object", "required": ["id"],
                            "properties": {"id": {"type": "string"},
                                           "x": {"type": "string"}}}}}}
    return {"apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.example.org"},
            "spec": {"group": "example.org", "scope": "Namespaced",
                     "names": {"plural": "things", "singular": "thing",
                               "kind": "Thing", "listKind": "ThingList",
                               "shortNames": ["th"]},
                     "versions": [{
                         "name": "v1", "served": True, "storage": True,
                         "schema": {"openAPIV3Schema": {
                             "type": "object", "properties": {"spec": spec}}},
                     }]}}


def thing(**spec):
    return {"apiVersion": "example.org/v1", "kind": "Thing",
            "metadata": {"name": "t"}, "spec": spec}
