# SPDX-License-Identifier: MIT
"""OpenAPI documents, and what takes HEAD."""

from cases_apply import thing_definition
from cases_write import CRDS, MAPS, check

PREFIX = "#/components/schemas/"


def references(value):
    if isinstance(value, dict):
        for key, inside in value.items():
            if key == "$ref" and isinstance(inside, str):
                yield inside
            yield from references(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from references(inside)


def documents(sim):
    index = sim.get("/openapi/v3").json()["paths"]
    return {name: sim.get(entry["serverRelativeURL"]).json()
            for name, entry in index.items()}


def test_openapi_documents_are_whole(start):
    sim = start("--resource", "widgets.v1.example.com")
    all_documents = documents(sim)
    assert set(all_documents) == {
        "api/v1", "apis/apps/v1", "apis/coordination.k8s.io/v1",
        "apis/discovery.k8s.io/v1", "apis/apiextensions.k8s.io/v1",
        "apis/example.com/v1"}
    for name, document in all_documents.items():
        assert document["openapi"] == "3.0.0"
        schemas = document["components"]["schemas"]
        for reference in references(document):
            assert reference.startswith(PREFIX), reference
            assert reference[len(PREFIX):] in schemas, reference
        # Every resource of discovery has its paths and its type.
        for found in sim.get(f"/{name}").json()["resources"]:
            if "/" in found["name"]:
                continue
            middle = "namespaces/{namespace}/" if found["namespaced"] else ""
            path = f"/{name}/{middle}{found['name']}/{{name}}"
            kind = document["paths"][path]["patch"][
                "x-kubernetes-group-version-kind"]
            assert kind["kind"] == found["kind"]
            assert [x for x in schemas.values() if kind in x.get(
                "x-kubernetes-group-version-kind", [])]


def test_openapi_tells_what_merges_need(start):
    schemas = documents(start())["api/v1"]["components"]["schemas"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"][
        "containers"]
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    ports = schemas["io.k8s.api.core.v1.Container"]["properties"]["ports"]
    assert ports["x-kubernetes-list-map-keys"] == ["containerPort", "protocol"]
    assert ports["x-kubernetes-patch-merge-key"] == "containerPort"
    assert schemas["io.k8s.api.core.v1.ContainerPort"]["properties"][
        "protocol"]["default"] == "TCP"


def test_openapi_follows_definitions(start):
    sim = start()
    index = sim.get("/openapi/v3").json()
    sim.post(CRDS, thing_definition())
    things = documents(sim)["apis/example.org/v1"]
    spec = things["components"]["schemas"]["org.example.v1.Thing"][
        "properties"]["spec"]["properties"]
    assert spec["parts"]["x-kubernetes-list-map-keys"] == ["id"]
    content = things["paths"]["/apis/example.org/v1/namespaces/{namespace}/"
                              "things/{name}"]["patch"]["requestBody"]["content"]
    assert set(content) == {"application/json-patch+json",
                            "application/merge-patch+json",
                            "application/apply-patch+yaml"}
    sim.delete(f"{CRDS}/things.example.org")
    assert sim.get("/openapi/v3").json() == index
    assert sim.get("/openapi/v3/apis/example.org/v1").status == 404


def test_openapi_of_other_forms(start):
    sim = start()
    protobuf = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
    check(sim.get("/openapi/v3/api/v1", {"Accept": protobuf}), 406,
          "NotAcceptable", "application/json")
    for path in ("/openapi/v2", "/openapi", "/openapi/v3/api",
                 "/openapi/v3/api/v2", "/openapi/v3/apis/none/v1",
                 "/openapi/v3/x/v1", "/openapi/v3/apis/apps/v1/more"):
        assert sim.get(path).status == 404, path


def test_head(start):
    """As in a real server, where resources have routes of single methods."""
    sim = start()
    for path in ("/healthz", "/readyz", "/livez", "/openapi/v3"):
        answer = sim.ask("HEAD", path)
        assert answer.status == 200 and answer.body == b"", path
    assert sim.ask("HEAD", MAPS).status == 405
