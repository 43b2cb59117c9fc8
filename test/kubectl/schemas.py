# SPDX-License-Identifier: MIT
"""The schemas of kin-apisim's types against those that Kubernetes publishes."""

import json
import pathlib
import subprocess

MODULE = "k8s.io/kubernetes"
# What the served documents leave out.
LEFT_OUT = ("description", "x-kubernetes-unions",
            "x-kubernetes-group-version-kind")


def published(folder):
    """The folder with the OpenAPI documents of the release in go.mod."""
    done = subprocess.run(["go", "mod", "download", "-json", MODULE],
                          cwd=folder, check=True, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    return pathlib.Path(json.loads(done.stdout)["Dir"],
                        "api", "openapi-spec", "v3")


def normal(schema, within_properties=False):
    """A schema without what the served documents leave out."""
    if isinstance(schema, list):
        return [normal(x) for x in schema]
    if not isinstance(schema, dict):
        return schema
    if within_properties:
        return {key: normal(x) for key, x in schema.items()}
    if set(schema) == {"$ref"}:
        return {"allOf": [schema]}
    out = {}
    for key, value in schema.items():
        default = key == "default" and (not isinstance(value, str) or not value)
        if key in LEFT_OUT or default:
            continue
        if key == "allOf":
            out[key] = value
        elif key == "required":
            out[key] = sorted(value)
        else:
            out[key] = normal(value, key == "properties")
    return out


def differences(sim, folder):
    """Lines about types that are not as published; and how many types were
    compared."""
    found, count = [], 0
    for name, entry in sim.get("/openapi/v3").json()["paths"].items():
        served = sim.get(entry["serverRelativeURL"]).json()
        path = published(folder) / (name.replace("/", "__") + "_openapi.json")
        types = json.loads(path.read_text())["components"]["schemas"]
        for kind, schema in served["components"]["schemas"].items():
            count += 1
            if kind not in types:
                found.append(f"{kind}: not published")
            elif normal(schema) != normal(types[kind]):
                found.append(f"{kind}: {normal(schema)} instead of "
                             f"{normal(types[kind])}")
    return found, count
