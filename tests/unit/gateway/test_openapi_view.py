"""The description of REST as people read it."""

from headrace.gateway.openapi_view import Content, Parameter, operations, shape

NAMED = {"Part": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}


def test_a_shape_reads_like_the_json_it_is_of() -> None:
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Of the\n topic."},
            "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Part"}},
            "acks": {"anyOf": [{"enum": ["all", 1]}, {"type": "null"}], "description": "Whose."},
            "offset": {"type": ["integer", "null"]},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "rest": {"type": "object"},
            "value": {},
        },
        "required": ["name"],
    }
    assert shape(schema, NAMED) == (
        "{\n"
        "  name: string  // Of the topic.\n"
        "  parts?: [{\n"
        "    n: integer\n"
        "  }, …]\n"
        '  acks?: "all" | 1 | null  // Whose.\n'
        "  offset?: integer | null\n"
        "  labels?: {\n"
        "    …: string\n"
        "  }\n"
        "  rest?: object\n"
        "  value?: any JSON\n"
        "}"
    )


def test_a_shape_that_holds_itself_has_an_end() -> None:
    tree = {"Tree": {"type": "object", "properties": {"below": {"$ref": "#/components/schemas/Tree"}}}}
    assert "…" in shape(tree["Tree"], tree)


def test_an_operation_has_its_parameters_bodies_and_replies_without_problems() -> None:
    said = {
        "tags": ["topics"],
        "summary": "Create",
        "description": "A\n topic.",
        "parameters": [
            {"name": "dry", "in": "query", "schema": {"type": "boolean", "default": False}, "description": "Only look."}
        ],
        "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Part"}}}},
        "responses": {
            "204": {"description": "Done."},
            "200": {"description": "Events.", "content": {"text/event-stream": {}}},
            "default": {"description": "No.", "content": {"application/problem+json": {"schema": {"type": "object"}}}},
        },
    }
    (operation,) = operations({"paths": {"/topics": {"post": said}}, "components": {"schemas": NAMED}})
    assert operation[:5] == ("POST", "/topics", "topics", "Create", "A topic.")
    assert operation.parameters == [Parameter("dry", "query", "boolean", False, "false", "Only look.")]
    assert operation.bodies == [Content("", "application/json", "", "{\n  n: integer\n}")]
    assert operation.replies == [Content("200", "text/event-stream", "Events.", ""), Content("204", "", "Done.", "")]
