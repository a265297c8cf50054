"""The description of the HTTP look-ups: OpenAPI for programs, a page for people."""

from html import escape
from importlib.metadata import version
from typing import Any

from search.requests import SCHEMA
from search.schemas import DESCRIPTIONS, UNTRUSTED, schema_of


def described(address: str) -> dict[str, Any]:
    """The OpenAPI 3.1 document of the server at ``address``."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Huginn look-ups",
            "version": version("huginn"),
            "description": UNTRUSTED,
        },
        "servers": [{"url": address}],
        "security": [{"token": []}],
        "paths": {f"/v1/{command}": {"post": _operation(command)} for command in DESCRIPTIONS},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": _ERROR},
        },
    }


def page() -> str:
    """What the same says, as one page of HTML that loads nothing."""
    parts = [_look_up(command) for command in DESCRIPTIONS]
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Huginn look-ups</title>"
        f"<h1>Huginn look-ups</h1><p>{escape(UNTRUSTED)}</p>"
        "<p>POST the arguments as JSON, with the bearer token of the file <code>http-token</code> "
        f"in <code>data_dir</code>. The answer is one <code>{SCHEMA}</code> document (docs/cli.md "
        'describes its fields). For programs: <a href="/openapi.json">openapi.json</a>.</p>'
        + "".join(parts)
        + "</html>"
    )


_ERROR = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "message": {"type": "string"},
                "field": {"type": "string", "description": "The argument that is off."},
                "reason": {"type": "string"},
                "fix": {"type": "string"},
            },
            "required": ["message"],
        }
    },
}


def _operation(command: str) -> dict[str, Any]:
    failures = {
        "400": "An argument is off; the field is named.",
        "401": "The bearer token is missing or wrong.",
        "503": "Weaviate, the collection or the model cannot be had, or no answer in time.",
    }
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        "operationId": command,
        "summary": DESCRIPTIONS[command],
        "requestBody": {"content": {"application/json": {"schema": schema_of(command)}}},
        "responses": {
            "200": {
                "description": f"One {SCHEMA} document; `exit` says whether anything was found.",
                "content": {"application/json": {"schema": _DOCUMENT}},
            }
        }
        | {status: {"description": why, "content": content} for status, why in failures.items()},
    }


_DOCUMENT = {
    "type": "object",
    "properties": {
        "schema": {"type": "string", "const": SCHEMA},
        "command": {"type": "string"},
        "exit": {"type": "integer", "enum": [0, 1, 3]},
    },
    "required": ["schema", "command", "exit"],
}


def _look_up(command: str) -> str:
    schema = schema_of(command)
    rows = "".join(
        f"<dt><code>{escape(name)}</code>{' (required)' if name in schema['required'] else ''}</dt>"
        f"<dd>{escape(each['description'])}</dd>"
        for name, each in schema["properties"].items()
    )
    return (
        f"<h2><code>POST /v1/{command}</code></h2><p>{escape(DESCRIPTIONS[command])}</p>"
        f"<dl>{rows}</dl>"
    )
