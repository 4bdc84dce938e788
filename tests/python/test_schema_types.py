"""The Python types of scenarios and results are those of the schemas."""

import json
import subprocess
import sys

from conftest import ROOT

from airwatt import _core, laboratory
from airwatt.reports import check
from airwatt.results import Result


def test_the_types_are_what_the_schemas_give():
    command = [sys.executable, ".ci/schema_types.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


OPTIONAL = ("hosts", "impairments", "tunnels", "windows")
"""Lists that are left out when they are empty."""


def absent(schema, value, kinds, place=""):
    """Yields the keys that a schema requires and a document lacks, and those that it has and the schema does not."""
    if "$ref" in schema:
        schema = kinds[schema["$ref"].rpartition("/")[2]]
    if value is not None:
        for choice in schema.get("anyOf", ()):
            yield from absent(choice, value, kinds, place)
    if isinstance(value, dict) and "properties" in schema:
        yield from (f"{place}.{key} is missing" for key in schema.get("required", ()) if key not in value)
        yield from (f"{place}.{key} is unknown" for key in value if key not in schema["properties"])
        for key, part in schema["properties"].items():
            if key in value and isinstance(part, dict):
                yield from absent(part, value[key], kinds, f"{place}.{key}")
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        for part in value:
            yield from absent(schema["items"], part, kinds, f"{place}[]")


def keys_of(value):
    """Gives all keys of a document, wherever they are."""
    if isinstance(value, dict):
        return set(value) | {key for part in value.values() for key in keys_of(part)}
    return {key for part in value for key in keys_of(part)} if isinstance(value, list) else set()


def test_documents_of_shipped_scenarios_are_what_the_schema_says(airwatt):
    schema = airwatt("run", "--schema").json
    assert schema["properties"].pop("commit")["type"] == "string"
    assert schema == json.loads(_core.result_schema())
    found = []
    for shipped in laboratory.scenarios():
        # What is measured or begins after some time does so sooner, as in the core's tests.
        keys = laboratory.load(shipped.name).to_dict()
        cut = {"duration": "2s"}
        if "measure_from" in keys:
            cut |= {"measure_from": "1s", "fairness_windows": ["1s"]}
        if any("start_spread" in flow for flow in keys.get("flow", ())):
            cut["flow.start_spread"] = "1s"
        document = laboratory.run(shipped.name, set=cut).to_dict()
        assert list(absent(schema, document, schema["$defs"], shipped.name)) == []
        assert check.mistake(document) is None
        found.append(keys_of(document))
    for key in OPTIONAL:
        assert 0 < sum(key in keys for keys in found) < len(found), key


def test_a_list_that_is_left_out_is_none():
    assert Result({"scenario": "x"}).tunnels is None
